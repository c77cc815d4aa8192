"""A case asked question by question in the browser, and one step at a time through a JSON interface.

Needs ``pip install 'fsgym[web]'``. ``fsgym.web.app.case_app`` makes the application, and ``fsgym.web.serving.serve``
runs it.
"""
