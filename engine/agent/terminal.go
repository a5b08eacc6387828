package agent

import (
	"os"

	"golang.org/x/sys/unix"
)

// detachTerminal gives up the controlling terminal, if there is one: it carries the
// frames, and programs that modules run must not use it. Standard input and output
// stay open.
func detachTerminal() {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return // none
	}
	defer func() { _ = tty.Close() }()
	_ = unix.IoctlSetInt(int(tty.Fd()), unix.TIOCNOTTY, 0)
}
