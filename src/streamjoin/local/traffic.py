"""What goes to and fro between the cores of a chain."""

import threading

from streamjoin.local.node import Message, Node
from streamjoin.spec.side import Side


class Traffic:
    """Messages under way, so that the driver knows when the chain is at rest, and the threads that carry them."""

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes, self._changed = nodes, threading.Condition()
        self._under_way = 0
        self._shared = self._stopped = False
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []

    def send(self, node: Node, side: Side, message: Message) -> None:
        """Put a message into a queue of a node."""
        with self._changed:
            self._under_way += 1
            node.queues[side].append(message)
            if self._shared:
                self._changed.notify_all()

    def settle(self, *, alone: bool) -> None:
        """Let messages flow until none is under way; `alone` in the caller's thread."""
        if alone or len(self._nodes) == 1:
            while self._under_way:
                for node in self._nodes:
                    taken = node.step()  # which may send others
                    self._under_way -= taken
            return
        if not self._threads:
            self._threads = [threading.Thread(target=self._carry, args=(node,), daemon=True) for node in self._nodes]
            for thread in self._threads:
                thread.start()
        with self._changed:
            self._shared = True
            self._changed.notify_all()
            while self._under_way and self._error is None:
                self._changed.wait()
            self._shared = False
            if self._error is not None:
                raise self._error

    def _carry(self, node: Node) -> None:
        """What the thread of a node does."""
        while True:
            with self._changed:
                while not self._stopped and not (self._shared and (node.queues["l"] or node.queues["r"])):
                    self._changed.wait()
                if self._stopped:
                    return
            try:
                taken = node.step()
            except BaseException as error:  # noqa: BLE001  it is raised to the driver
                self._error, taken = error, 0
            with self._changed:
                self._under_way -= taken
                if self._under_way == 0 or self._error is not None:
                    self._changed.notify_all()

    def stop(self) -> None:
        """End the threads."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
