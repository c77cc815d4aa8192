"""Parse HTML pages in tests of reports."""

from html.parser import HTMLParser


class Markup(HTMLParser):
    """Collect the tags, links and text of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.links, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def read(path):
    """The parsed page, and its text in one line."""
    markup = Markup()
    markup.feed(path.read_text(encoding="utf-8"))
    return markup, " ".join(" ".join(markup.text).split())
