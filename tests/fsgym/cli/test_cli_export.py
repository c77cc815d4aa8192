"""The command ``export``."""

import json
import zipfile

from test_cli import call

from agents import load_classifier


def test_page_and_policy(capsys, tmp_path, case_model):
    page, policy = tmp_path / "page.html", tmp_path / "policy.json"
    code, out, err = call(capsys, "export", case_model, page, "--json", policy, "--title", "a <b>")
    assert (code, err) == (0, "")
    assert out.startswith(f"Written: {page} (")
    assert out.endswith("Open the page in a browser; it needs no network.\n")
    assert "<title>a &lt;b&gt;</title>" in page.read_text()
    assert policy.read_text() == load_classifier(case_model).policy_json()
    before = page.read_text()
    assert call(capsys, "export", case_model, page, "--json", policy)[0] == 0  # its own files are replaced
    assert page.read_text() != before


def test_other_files_are_not_replaced(capsys, tmp_path, case_model):
    table, page = tmp_path / "table.csv", tmp_path / "page.html"
    table.write_text("age,ill\n61,yes\n")
    zipped = tmp_path / "agent.zip"
    zipfile.ZipFile(zipped, "w").close()
    other = tmp_path / "other.htm"
    other.write_text("<p>mine</p>")
    for arguments, words in (
        ((case_model, other), f"fsgym: {other} exists and is no page that fsgym wrote; choose another name"),
        (
            (case_model, table),
            f"fsgym: the page must end in .html or .htm, got {table}; --json FILE also writes the policy",
        ),
        ((case_model, tmp_path / "policy.json"), "--json FILE also writes the policy as JSON"),
        ((case_model, page, "--json", table), f"{table} exists and is no policy that fsgym wrote"),
        ((case_model, page, "--json", page), "--json must be another file than the page"),
        ((case_model, tmp_path), f"{tmp_path} is a folder; name a file for the page"),
        ((case_model, tmp_path / "none" / "page.html"), f"there is no folder {tmp_path / 'none'} for the page"),
        ((table, page), "is not a model file"),
        ((zipped, page), "is a zip file, such as Stable-Baselines3 writes"),
    ):
        code, out, err = call(capsys, "export", *arguments)
        assert (code, out) == (2, ""), arguments
        assert words in " ".join(err.split()), arguments
        assert not page.exists()
    assert table.read_text() == "age,ill\n61,yes\n"


def test_policy_file_is_the_format(capsys, tmp_path, case_model):
    call(capsys, "export", case_model, tmp_path / "page.html", "--json", tmp_path / "policy.json")
    plain = json.loads((tmp_path / "policy.json").read_text())
    assert [a["name"] for a in plain["acquisitions"]] == ["age", "blood", "smoker", "ward"]
