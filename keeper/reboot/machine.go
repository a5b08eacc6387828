package reboot

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// systemctlTimeout is the maximum time for an answer of systemd.
const systemctlTimeout = 5 * time.Second

// goingDown asks systemd whether the machine shuts down, reboots or is switched off.
func goingDown(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, systemctlTimeout)
	defer cancel()
	// The exit code is 0 for running only, so that the text decides.
	text, err := exec.CommandContext(ctx, "systemctl", "is-system-running").Output()
	if len(text) == 0 {
		return false, fmt.Errorf("asking systemd whether the machine goes down: systemctl is-system-running: %w", err)
	}
	return isStopping(string(text)), nil
}

// isStopping reads an answer of systemctl is-system-running. It is "stopping" from the moment in which
// shutdown.target is queued (systemd src/core/manager.c, manager_state), which every shutdown does
// before it stops a unit.
func isStopping(answer string) bool { return strings.TrimSpace(answer) == "stopping" }
