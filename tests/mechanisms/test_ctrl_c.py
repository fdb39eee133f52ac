"""A real Ctrl-C in a process of its own, at any moment: the array that was written to holds zeros."""

from __future__ import annotations

import subprocess
import sys
import textwrap

SIGNALLED = textwrap.dedent(
    """
    import _thread, os, signal, threading, time
    import numpy as np
    from exactnoise import Gaussian, Laplace

    def press(x, delay):
        while x[0] == 1 / 3:  # until the first range is being released
            time.sleep(0.0001)
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT) if os.name == "posix" else _thread.interrupt_main()

    def interrupted(mechanism, x, workers, delay):
        user = threading.Thread(target=press, args=(x, delay))
        user.start()
        try:
            try:
                mechanism.release(x, budget=None, out=x, workers=workers)
            except KeyboardInterrupt:
                return True
            time.sleep(1)
        except KeyboardInterrupt:  # too late for the release
            return False
        finally:
            user.join()

    stopped = 0
    for layout in (lambda n: np.empty(n), lambda n: np.empty(2 * n)[::2]):
        for mechanism in (Laplace(sensitivity=1, epsilon=1), Gaussian(sensitivity=1, rho=1)):
            for workers in (1, 2):
                for delay in (0, 0.001, 0.003, 0.008):
                    x = layout(6_000_000)
                    x[...] = 1 / 3  # no multiple of the granularity: noise cannot give it back
                    caught = interrupted(mechanism, x, workers, delay)
                    zeros, exact = np.count_nonzero(x == 0), np.count_nonzero(x == 1 / 3)
                    assert exact == 0, (caught, exact, delay, workers)
                    assert not caught or zeros == x.size, (zeros, delay, workers)
                    assert caught or zeros < 100, (zeros, delay, workers)
                    stopped += caught
    print("stopped", stopped)
    """
)


def test_ctrl_c():
    result = subprocess.run([sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout.split()[1]) >= 8, result.stdout
