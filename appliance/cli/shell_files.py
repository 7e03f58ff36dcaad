"""Completion for bash, zsh and fish, and man pages, made from the parser.

The image's build writes them: ``python3 -m appliance.cli.shell_files /usr/share``. Nothing at run
time needs them or what they are made with.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import Action, ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from appliance import __version__, paths
from appliance.cli.command import Command, parser
from appliance.cli.main import commands

_FILES, _FOLDERS = "files", "folders"
# What an argument of this name is completed with.
_KINDS = dict.fromkeys(("FILE", "FILE.csv", "OLD", "NEW", "DEVICE"), _FILES) | {"DIR": _FOLDERS}
_EXITS = (
    ("0", "done"),
    ("1", "failed: the environment (a program missing, a disk error, no space for the history)"),
    ("2", "the request was wrong: an unknown suite, an unreadable layout"),
    ("3", "refused: it could lose data or mislead"),
    ("4", "the disks changed between looking and acting; nothing more was done"),
    (
        "5",
        "drift check, drift accept: a grave finding is not acknowledged;"
        " audit-presets: a figure cannot be true",
    ),
    ("130", "interrupted; what a unit does goes on"),
)


class _Page(NamedTuple):
    """A command or an action, as the parser has it. ``below`` are names with their summaries."""

    name: str
    summary: str
    description: str
    example: str
    options: Sequence[Action]
    words: Sequence[Action]
    below: Sequence[tuple[str, str]]


def main(argv: Sequence[str]) -> int:
    """Write everything below the folder in ``argv``."""
    (share,) = map(Path, argv)
    known = [one for one in commands() if one.summary]
    found = list(_pages(Command("", None), parser(known), {one.name: one for one in known}))
    files = {
        "bash-completion/completions/stripewright": bash(found),
        "zsh/vendor-completions/_stripewright": zsh(found),
        "fish/vendor_completions.d/stripewright.fish": fish(found),
        **{f"man/man1/{name}.1": text for name, text in man_pages(found).items()},
    }
    for name, text in files.items():
        path = share / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
    return 0


def _pages(command: Command, made: ArgumentParser, known: dict[str, Command]) -> Iterator[_Page]:
    groups = [one for one in made._actions if isinstance(one.choices, dict)]
    below = {word: sub for one in groups for word, sub in dict(one.choices or {}).items()}
    named = {word: known[f"{command.name} {word}".strip()] for word in below}
    yield _Page(
        command.name,
        command.summary,
        made.description or "",
        command.example,
        options=[one for one in made._actions if one.option_strings],
        words=[one for one in made._actions if not one.option_strings and one not in groups],
        below=[(word, one.summary) for word, one in named.items()],
    )
    for word, sub in below.items():
        yield from _pages(named[word], sub, known)


def _values(action: Action) -> tuple[str, list[str]]:
    """What completes the value of ``action``: files, folders or nothing, and these words."""
    if action.choices is not None:
        return "", [str(one) for one in action.choices]
    if action.metavar == "SUITE":
        from appliance.bench.suite import suite_names

        return _FILES if action.dest == "suite" and action.required else "", sorted(suite_names())
    return _KINDS.get(str(action.metavar), ""), []


def _takes_value(action: Action) -> bool:
    return action.nargs != 0


# ----------------------------------------------------------------------------------- shells


def bash(pages: Sequence[_Page]) -> str:
    names = " | ".join(f"' {page.name}'" for page in pages if page.name)
    values, after = [], []
    for page in pages:
        path = f" {page.name}" if page.name else ""
        kind, candidates = "", [word for word, _ in page.below]
        for word in page.words:
            kind, candidates = _values(word)
        flags = [flag for option in page.options for flag in option.option_strings]
        after.append(
            f"        '{path}') options='{' '.join(flags)}' words='{' '.join(candidates)}'"
            f" kind='{kind}' ;;"
        )
        for option in filter(_takes_value, page.options):
            kind, choices = _values(option)
            at = " | ".join(f"'{path} {flag}'" for flag in option.option_strings)
            values.append(f"        {at}) options='' words='{' '.join(choices)}' kind='{kind}' ;;")
    return "\n".join(
        [
            "# bash completion for stripewright(1)",
            "_stripewright() {",
            "    local cur=${COMP_WORDS[COMP_CWORD]} at='' word options words kind",
            '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
            f'        case "$at $word" in {names}) at="$at $word" ;; esac',
            "    done",
            '    case "$at" in',
            *after,
            "    esac",
            '    case "$at ${COMP_WORDS[COMP_CWORD-1]}" in',
            *values,
            "    esac",
            '    [[ $cur == -* ]] && words=$options kind=""',
            '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")',
            "    case $kind in",
            "        files) compopt -o filenames 2>/dev/null",
            '            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur") ;;',
            "        folders) compopt -o filenames 2>/dev/null",
            '            mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;',
            "    esac",
            "}",
            "complete -F _stripewright stripewright",
            "",
        ]
    )


def zsh(pages: Sequence[_Page]) -> str:
    lines = ["#compdef stripewright"]
    for page in pages:
        specs = []
        for option in page.options:
            value = f":{_zsh(_metavar(option))}:{_zsh_values(option)}" if option.nargs != 0 else ""
            repeat = "*" if option.__class__.__name__ == "_AppendAction" else ""
            for flag in option.option_strings:
                specs.append(f"{repeat}{flag}[{_zsh(option.help)}]{value}")
        for word in page.words:
            place = "*" if word.nargs == "+" else "1" if len(page.words) == 1 else ""
            specs.append(f"{place}:{_zsh(_metavar(word))}:{_zsh_values(word)}")
        if page.below:
            specs += ["1:command:->command", "*::argument:->argument"]
        arguments = " ".join(f"'{spec}'" for spec in specs)
        lines += ["", f"{_function(page.name)}() {{", "    local -a line names; local state"]
        lines.append(f"    _arguments -C {arguments}")
        if page.below:
            names = " ".join(f"'{word}:{_zsh(summary)}'" for word, summary in page.below)
            lines += ["    case $state in", f"        command) names=({names})"]
            lines.append("            _describe command names ;;")
            lines.append("        argument) case $line[1] in")
            for name, _ in page.below:
                lines.append(f"            {name}) {_function(f'{page.name} {name}')} ;;")
            lines += ["        esac ;;", "    esac"]
        lines.append("}")
    return "\n".join([*lines, "", '_stripewright "$@"', ""])


def _function(name: str) -> str:
    return "_".join(["_stripewright", *name.split()])


def _zsh(words: str | None) -> str:
    """Within single quotes, in the text of an option."""
    escaped = (words or "").replace("\\", "\\\\")
    for char in "[]:":
        escaped = escaped.replace(char, f"\\{char}")
    return escaped.replace("'", "'\\''")


def _zsh_values(action: Action) -> str:
    kind, choices = _values(action)
    if kind == _FILES and choices:
        return f"{{compadd -- {' '.join(choices)}; _files}}"
    if choices:
        return f"({' '.join(choices)})"
    return {_FILES: "_files", _FOLDERS: "_files -/"}.get(kind, " ")


def fish(pages: Sequence[_Page]) -> str:
    names = " ".join(f"'{page.name}'" for page in pages if page.name)
    lines = [
        "# fish completion for stripewright(1)",
        "function __stripewright_at",
        "    set -l at",
        "    for word in (commandline -opc)[2..]",
        '        set -l longer (string trim -- "$at $word")',
        f"        contains -- $longer {names}",
        "        and set at $longer",
        "    end",
        '    test "$at" = "$argv"',
        "end",
        "complete -c stripewright -f",
    ]
    for page in pages:
        at = f"complete -c stripewright -n '{f'__stripewright_at {page.name}'.strip()}'"
        for word, summary in page.below:
            lines.append(f"{at} -a {word} -d '{_fish(summary)}'")
        for option in page.options:
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in option.option_strings
            )
            values = _fish_values(option)
            # -x alone would offer no files, and together with -F is refused.
            needs = " -r" if values.endswith("-F") else " -x" if _takes_value(option) else ""
            lines.append(f"{at} {flags}{needs}{values} -d '{_fish(option.help)}'")
        for word_action in page.words:
            if values := _fish_values(word_action):
                lines.append(f"{at}{values}")
    return "\n".join([*lines, ""])


def _fish(words: str | None) -> str:
    return (words or "").replace("\\", "\\\\").replace("'", "\\'")


def _fish_values(action: Action) -> str:
    kind, choices = _values(action)
    words = f" -a '{' '.join(choices)}'" if choices else ""
    if kind == _FOLDERS:
        return " -a '(__fish_complete_directories)'"
    return f"{words} -F" if kind == _FILES else words


def _metavar(action: Action) -> str:
    if action.metavar is None and action.choices is not None:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest)


# -------------------------------------------------------------------------------- man pages


def man_pages(pages: Sequence[_Page]) -> dict[str, str]:
    """``stripewright`` and a page for each command, with its actions."""
    top, *rest = pages
    tops = [page for page in rest if " " not in page.name]
    names = {page.name: f"stripewright-{page.name}" for page in tops}
    made = {"stripewright": _main_page(top, list(names.values()))}
    for page in tops:
        lines = _heading(names[page.name], page.summary)
        lines += [".SH SYNOPSIS", *_usage(page)]
        lines += [".SH DESCRIPTION", *_described(page)]
        for action in rest:
            if action.name.startswith(f"{page.name} "):
                lines += [f".SH {_roff(action.name.upper())}", *_usage(action), ".PP"]
                lines += _described(action)
        lines += [".SH SEE ALSO", ".BR stripewright (1)"]
        made[names[page.name]] = "\n".join([*lines, ""])
    return made


def _main_page(top: _Page, names: Sequence[str]) -> str:
    lines = _heading("stripewright", "local disks of a cloud machine: striped, measured, watched")
    lines += [".SH SYNOPSIS", ".B stripewright", "[\\fICOMMAND\\fR] [\\fIOPTION\\fR]..."]
    lines += [".SH DESCRIPTION"]
    lines += ["Without a command: the screens on a terminal, the status elsewhere."]
    lines += [".SH COMMANDS"]
    for word, summary in top.below:
        lines += [".TP", f".BR stripewright\\-{_roff(word)} (1)", _roff(summary)]
    lines += [".SH OPTIONS", *_options(top.options), ".SH EXIT STATUS"]
    for status, meaning in _EXITS:
        lines += [".TP", f".B {status}", _roff(meaning)]
    lines += [".SH FILES"]
    for path, what in (
        (paths.LAYOUT_FILE, "the volumes; without it one stripe of all instance storage"),
        (paths.SCHEDULE_FILE, "when suites run and drift is checked"),
        (paths.HISTORY_DB, "the history"),
    ):
        lines += [".TP", f".I {_roff(str(path))}", _roff(what)]
    also = [f".BR {_roff(name)} (1)," for name in names]
    return "\n".join([*lines, ".SH SEE ALSO", *also, ".BR fio (1)", ""])


def _heading(name: str, summary: str) -> list[str]:
    # The build sets it, so that two builds of one tree are the same.
    at = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    return [
        f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "{time.strftime("%Y-%m-%d", at)}"'
        f' "Stripewright {__version__}" "User Commands"',
        ".SH NAME",
        f"{_roff(name)} \\- {_roff(summary)}",
    ]


def _usage(page: _Page) -> list[str]:
    words = ["[\\fIOPTION\\fR]..."] if len(page.options) > 1 else []
    for word in page.words:
        name = f"\\fI{_roff(_metavar(word))}\\fR"
        words.append({"?": f"[{name}]", "+": f"{name}..."}.get(str(word.nargs), name))
    if page.below:
        words.append("\\fIACTION\\fR")
    name = f".B stripewright {_roff(page.name)}"
    return [name, " ".join(words)] if words else [name]


def _described(page: _Page) -> list[str]:
    lines = [_roff(page.description)]
    for word, what in page.below:
        lines += [".TP", f".B {_roff(word)}", _roff(what)]
    lines += _options([*page.words, *page.options])
    example = f"stripewright {_roff(page.example)}"
    return [*lines, ".PP", "Example:", ".PP", ".EX", example, ".EE"]


def _options(actions: Sequence[Action]) -> list[str]:
    lines = []
    for action in actions:
        value = f" \\fI{_roff(_metavar(action))}\\fR" if _takes_value(action) else ""
        flags = ", ".join(f"\\fB{_roff(flag)}\\fR" for flag in action.option_strings)
        lines += [".TP", f"{flags}{value}".strip(), _roff(action.help or "")]
    return lines


def _roff(words: str) -> str:
    """As a line of text: nothing in it is a request or an escape."""
    escaped = words.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
