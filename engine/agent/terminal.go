package agent

import (
	"os"

	"golang.org/x/sys/unix"
)

// detachTerminal gives up the controlling terminal, if there is one: it carries
// the frames, and a program that a module runs must neither read nor write
// there. The terminal itself stays open as input and output.
func detachTerminal() {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return // none
	}
	defer func() { _ = tty.Close() }()
	_ = unix.IoctlSetInt(int(tty.Fd()), unix.TIOCNOTTY, 0)
}
