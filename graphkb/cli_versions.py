"""The commands that keep a knowledge base: ``snapshot``, ``compact`` and ``doctor``."""

from __future__ import annotations

from pathlib import Path

import click

from graphkb import terminal


@click.group()
def snapshot() -> None:
    """Keep versions under a name, compare them, go back to them.

    A snapshot shares its files with the versions around it: making one takes no time and next to
    no space, and it stays readable until it is deleted (query --at NAME).

    \b
      graphkb snapshot create v1.0 --note "before the March import" -r my-kb
      graphkb snapshot diff v1.0 -r my-kb
      graphkb snapshot restore v1.0 -r my-kb
    """


@snapshot.command()
@terminal.in_project
@click.option("--note", default="", help="A line to remember it by.")
@terminal.json_option
@click.argument("name")
def create(
    root: Path, overrides: tuple[str, ...], verbose: bool, note: str, as_json: bool, name: str
) -> None:
    """Keep the current version as NAME.

    NAME is any text that can name a folder, in any script: v1.0, 三月基线.
    """
    from graphkb.view.upkeep import snapshot_lines

    with terminal.opened(root, overrides, verbose) as project:
        made = project.create_snapshot(name, note)
    terminal.print_json(made.to_dict()) if as_json else click.echo(
        "\n".join(snapshot_lines([made]))
    )


@snapshot.command("list")
@terminal.in_project
@terminal.json_option
def list_(root: Path, overrides: tuple[str, ...], verbose: bool, as_json: bool) -> None:
    """List the snapshots, oldest first."""
    from graphkb.view.upkeep import snapshot_lines

    with terminal.opened(root, overrides, verbose) as project:
        found = project.snapshots()
    if as_json:
        terminal.print_json([snapshot.to_dict() for snapshot in found])
    elif found:
        click.echo("\n".join(snapshot_lines(found)))
    else:
        click.echo("no snapshots; make one with: graphkb snapshot create NAME", err=True)


@snapshot.command()
@terminal.in_project
@terminal.json_option
@click.argument("a")
@click.argument("b", required=False)
def diff(
    root: Path, overrides: tuple[str, ...], verbose: bool, as_json: bool, a: str, b: str | None
) -> None:
    """What changed from A to B (default: the newest version).

    A and B are snapshot names or numbers of kept versions. Documents (renamed files as such), text
    units, entities, relationships and communities, as counts and the first 20 of each; --json
    lists all.
    """
    from graphkb.view.upkeep import difference_lines

    with terminal.opened(root, overrides, verbose) as project:
        found = project.diff(a, b)
    text = "\n".join(difference_lines(found))
    terminal.print_json(found.to_dict()) if as_json else click.echo(text)


@snapshot.command()
@terminal.in_project
@terminal.json_option
@click.argument("version")
def restore(
    root: Path, overrides: tuple[str, ...], verbose: bool, as_json: bool, version: str
) -> None:
    """Make VERSION, a snapshot or a kept version, the newest version again.

    What is current is first kept as the automatic snapshot before-restore-<version>, so a restore
    can be undone. The input folder stays as it is: the next graphkb index brings the knowledge
    base up to date with it again.
    """
    from graphkb.view.counts import counts_line

    with terminal.opened(root, overrides, verbose) as project:
        done = project.restore(version)
    if as_json:
        terminal.print_json(done.to_dict())
        return
    click.echo(f"version {done.version}: {done.source} restored")
    click.echo(counts_line(done.counts))
    if done.before:
        click.echo(f"to undo: graphkb snapshot restore {done.before.name} -r {root}", err=True)
    else:
        terminal.warn("what was current is damaged and was not kept")
    click.echo("the next graphkb index brings it up to date with input/ again", err=True)


@snapshot.command()
@terminal.in_project
@click.argument("name")
def delete(root: Path, overrides: tuple[str, ...], verbose: bool, name: str) -> None:
    """Delete snapshot NAME; what other versions share with it stays."""
    with terminal.opened(root, overrides, verbose) as project:
        project.delete_snapshot(name)
    click.echo(f"{name} deleted")


@click.command()
@terminal.in_project
@terminal.json_option
def compact(root: Path, overrides: tuple[str, ...], verbose: bool, as_json: bool) -> None:
    """Free disk space that no version needs.

    Compacts the tables, drops versions older than an hour that no snapshot keeps, removes what
    killed runs left, and shrinks the cache databases. Snapshots and kept versions stay readable.
    """
    from graphkb.view.upkeep import compaction_lines

    with terminal.opened(root, overrides, verbose) as project:
        done = project.compact()
    if as_json:
        terminal.print_json(done.to_dict())
        return
    click.echo("\n".join(compaction_lines(done)))
    for note in done.notes:
        click.echo(note, err=True)


@click.command()
@terminal.in_project
@click.option("--repair", is_flag=True, help="Mend what can be mended; nothing healthy is touched.")
@terminal.json_option
def doctor(
    root: Path, overrides: tuple[str, ...], verbose: bool, repair: bool, as_json: bool
) -> int:
    """Check that the knowledge base is whole, and repair it.

    Looks at folders and disk, the manifest, every table and id, graph arrays, indexes, Parquet
    files, caches, kept versions, snapshots and what killed runs left. Exit code 0 when all is
    well or was repaired, 1 when there are problems.

    \b
      graphkb doctor --root my-kb             problems, and what to do about each
      graphkb doctor --root my-kb --repair && graphkb index --root my-kb
    """
    from graphkb.view.upkeep import finding_lines

    with terminal.opened(root, overrides, verbose) as project:
        findings = project.doctor(repair)
    if as_json:
        terminal.print_json([finding.to_dict() for finding in findings])
    else:
        click.echo("\n".join(finding_lines(findings, verbose)))
        if any("graphkb index" in finding.repaired for finding in findings):
            click.echo(f"next: graphkb index --root {root}", err=True)
    return 1 if any(finding.problem for finding in findings) else 0
