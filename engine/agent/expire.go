package agent

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"deployer/engine"
	"deployer/engine/agent/statedir"
	"deployer/engine/agent/undo"
	"deployer/engine/spread/peer"
)

// expireSecrets removes expired backups of secrets. It begins every session, whatever the session
// does. While another agent works on the host, it fails and removes nothing.
func expireSecrets(state *statedir.Dir, backups *undo.Store) error {
	if len(state.Runs()) == 0 {
		return nil // a host without a run gets no state directory
	}
	busy := make(chan struct{})
	close(busy)
	unlock, err := state.Lock(context.Background(), busy, func(string) {})
	if err != nil {
		return err
	}
	defer unlock()
	return backups.ExpireSecrets(time.Now())
}

// wake removes expired spools of blobs, and has the host remove the next secrets or spools that
// expire: a controller may never come back. wakeAt may be nil.
func wake(state *statedir.Dir, backups *undo.Store, wakeAt func(time.Time) error) error {
	if wakeAt == nil {
		return nil
	}
	next, err := backups.NextExpiry()
	if err != nil {
		return err
	}
	if spools := peer.Expire(filepath.Join(state.Path, spoolDir)); next.IsZero() || !spools.IsZero() && spools.Before(next) {
		next = spools
	}
	if next.IsZero() {
		return nil
	}
	return wakeAt(next)
}

// expireProgram is the command that the host's timer starts.
func expireProgram(args []string, registry engine.Registry) error {
	flags := flag.NewFlagSet("expire", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	dir := flags.String("state-dir", DefaultStateDir, "")
	if err := flags.Parse(args); err != nil {
		return &usageError{err.Error()}
	}
	state := statedir.Open(*dir)
	defer state.Close()
	backups := undo.Open(state, registry, "/")
	defer backups.Close()
	return errors.Join(expireSecrets(state, backups), wake(state, backups, wakeAt(*dir)))
}

// wakeUnit is the name of the transient timer and its service. It begins unlike the units of
// roles, which an install removes when no role has them.
const wakeUnit = "expire-secrets-of-deployer"

// wakeRecord is the file of the state directory that says which timer the host has, and in which
// boot: the timer ends with it.
const wakeRecord = "expiry-timer"

// wakeAt returns a function that sets the transient timer of systemd for a state directory; nil where
// there is no systemd, and for agents that are not root's.
func wakeAt(stateDir string) func(time.Time) error {
	own, err := os.Executable()
	if _, missing := os.Stat("/run/systemd/system"); err != nil || missing != nil || os.Geteuid() != 0 || stateDir != DefaultStateDir {
		return nil
	}
	return func(at time.Time) error {
		argv := wakeCommand(at, own, stateDir)
		boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
		record, wanted := filepath.Join(stateDir, wakeRecord), fmt.Sprintf("%s %q\n", bytes.TrimSpace(boot), argv)
		if have, err := os.ReadFile(record); err == nil && string(have) == wanted {
			return nil
		}
		ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		_ = exec.CommandContext(ctx, "systemctl", "stop", wakeUnit+".timer").Run() // there may be none
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("setting a timer that removes expired secrets: %w: %s", err, out)
		}
		return statedir.WritePrivateFile(record, []byte(wanted))
	}
}

// wakeCommand returns the command that sets the timer. The timer goes by the clock of the host, so
// that a suspended machine catches up. A shell starts the program: SELinux does not let systemd
// itself execute files of the agent's directory.
func wakeCommand(at time.Time, program, stateDir string) []string {
	return []string{
		"systemd-run", "--quiet", "--collect", "--unit=" + wakeUnit, "--description=Remove expired backups of secrets of deployer",
		"--on-calendar=" + at.UTC().Add(time.Minute).Format("2006-01-02 15:04:05") + " UTC", "--timer-property=AccuracySec=1h",
		"/bin/sh", "-c", `exec "$0" "$@"`, filepath.Clean(program), "expire", "--state-dir", stateDir,
	}
}
