"""The entity graph for networkx and what draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphkb.store.lance import Store

if TYPE_CHECKING:
    import networkx as nx

_NODE = ("id", "type", "description", "rank", "community")


def entity_network(store: Store) -> nx.Graph[str]:
    """Nodes are entity titles, with type, description, rank and community; edges have weight,
    description and type. Of two entities with several relationships the weights are added, and
    the words and types stand one after the other, strongest first."""
    import networkx as nx

    graph: nx.Graph[str] = nx.Graph()
    nodes = store.read("nodes").rename({"entity_id": "id"})
    for row in store.read("entities").join(nodes, on="id", how="left").to_dicts():
        graph.add_node(row["title"], **{key: row[key] for key in _NODE})
    rows = store.read("relationships").sort("weight", "id", descending=[True, False])
    for row in rows.to_dicts():
        edge = graph.get_edge_data(row["source"], row["target"], {})
        words = {
            key: "; ".join(dict.fromkeys(text for text in (edge.get(key), row[key]) if text))
            for key in ("description", "type")
        }
        weight = edge.get("weight", 0.0) + row["weight"]
        graph.add_edge(row["source"], row["target"], weight=weight, **words)
    return graph
