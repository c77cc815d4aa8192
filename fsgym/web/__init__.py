"""A case asked question by question in the browser, and one step at a time through a JSON interface.

Needs the extra ``web``. In ``fsgym.web.serving``, ``case_app`` makes the application, and ``serve`` runs it.
"""
