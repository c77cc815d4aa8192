"""The site: ``.ci/site`` builds it offline, warnings as errors. ``_ext`` writes the pages that come from the code."""

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]
os.environ["MPLBACKEND"] = "agg"
os.environ.pop("FSGYM_DATA", None)  # the pages are the same with and without a folder of data sets

from repository import repository_options  # noqa: E402
from sphinx_gallery.sorting import FileNameSortKey  # noqa: E402
from svg_pictures import show_svg_files  # noqa: E402

import fsgym  # noqa: E402

project, author, release = "fsgym", "The fsgym developers", fsgym.__version__
copyright = "the fsgym developers, MIT licence"
extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "site_pages",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**/notes/*", "**/README.*", "README.*"]
suppress_warnings = ["config.cache"]  # functions among the settings of the gallery cannot be cached

autodoc_typehints = "none"  # the docstrings have the types
numpydoc_show_class_members = False  # the pages list the members themselves
numpydoc_class_members_toctree = False
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": FileNameSortKey,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
    "reset_modules": ("matplotlib",),
    "image_scrapers": ("matplotlib", show_svg_files),
    "default_thumb_file": str(HERE / "_generated" / "episode-light.png"),
    "plot_gallery": os.environ.get("FSGYM_SITE_GALLERY", "1") == "1",  # 0: the examples are shown, and not run
}
warnings.filterwarnings("ignore", category=DeprecationWarning)

html_theme = "pydata_sphinx_theme"
html_title = "fsgym"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_sidebars = {
    name: [] for name in ("faq", "glossary", "guarantees", "versions", "changes", "citation")
}  # pages with none below
html_show_sourcelink = False
html_scaled_image_link = False  # a link around a picture that is not shown has no name
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {"text": "fsgym"},
    "show_version_warning_banner": False,
}
options, context = repository_options(os.environ.get("FSGYM_REPOSITORY_URL", ""), release)
html_theme_options |= options
html_context = {
    "default_mode": "auto",
    **context,
}  # as the system; the theme reports a mode that is unset
