"""Words of messages, reports and pages."""
