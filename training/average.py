"""The mean of the weights of networks of one line: steadier on other data than each of them.

python -m training.average build/student build/shipped --out build/mean
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from training.network import load_network, save_network


def average(folders: list[Path], out: Path) -> None:
    """Write a network whose every weight is the mean of theirs."""
    states = [load_network(folder).state_dict() for folder in folders]
    network = load_network(folders[0])
    network.load_state_dict(
        {name: torch.stack([state[name].float() for state in states]).mean(0) for name in states[0]}
    )
    save_network(network, folders[0], out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    average(arguments.networks, arguments.out)


if __name__ == "__main__":
    main()
