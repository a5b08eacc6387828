// Package reboot has the module that reboots the host. The action reboot, on the
// controller, waits until the host is back.
package reboot

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/receipt"
)

// notePath is the file in which the host stores that a step has requested a reboot: a run that
// resumes a killed one must not reboot the host again.
func notePath(step string) string { return receipt.Path("reboot", step) }

// recent is the maximum age of a note of a run whose end is unknown. A run that was killed
// during a reboot and never resumed must not prevent a reboot weeks later.
const recent = 24 * time.Hour

// goesDown is the maximum time that a host takes to stop its services after the request of a
// reboot. Until then a second request may fail: systemd has ended, the agent and sshd have not.
const goesDown = 2 * time.Minute

// Reboot reboots the host unless it has rebooted since the step first requested it.
type Reboot struct {
	Step    string        `yaml:"step" rule:"line" required:"true" doc:"id of the requesting step, the same in the next run of the playbook"`
	Resumes string        `yaml:"resumes" rule:"line" doc:"run that this one continues: its reboot of the host counts. Default none"`
	Msg     string        `yaml:"msg" rule:"text" doc:"message to logged-in users; default none"`
	Command hostcmd.Words `yaml:"command" rule:"text" doc:"program that reboots the host; default systemctl reboot, or shutdown -r now where systemd does not run"`
	Done    bool          `yaml:"done" doc:"record that the step has ended, without a reboot. Default false"`
}

var _ engine.Module = (*Reboot)(nil)

// rebootNote is the record of a step that has requested a reboot.
type rebootNote struct {
	Step string    `json:"step"`
	Boot string    `json:"boot_id"` // before the reboot
	At   time.Time `json:"at"`
	// Done is the run in which the step has ended; empty before that.
	Done string `json:"done,omitempty"`
}

// Check compares the boot id with that at the time of the request.
func (r *Reboot) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	before, known := r.readNote(sys)
	if r.Done {
		if !known || before.Done == sys.RunID() {
			return engine.NoChange(nil), nil
		}
		return engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: notePath(r.Step), Action: "note the end"}), nil
	}
	now, err := bootID(sys)
	if err != nil {
		return engine.Change{}, err
	}
	if known && before.Boot != now && r.noteApplies(before, sys.RunID()) {
		return engine.NoChange(engine.Output{"boot_id": now}), nil
	}
	return engine.Changed(Effect()), nil
}

// readNote returns the note of the step; false when there is none.
func (r *Reboot) readNote(sys engine.System) (rebootNote, bool) {
	var before rebootNote
	known := receipt.Read(sys, notePath(r.Step), &before)
	return before, known
}

// noteApplies reports whether the requested reboot is the one of this task.
func (r *Reboot) noteApplies(before rebootNote, run string) bool {
	if before.Done == "" {
		return time.Since(before.At).Abs() < recent
	}
	return before.Done == run || before.Done == r.Resumes
}

// Effect returns the effect of a reboot.
func Effect() engine.Effect {
	return engine.Effect{Kind: engine.EffectReboot, Target: "the host", Action: "reboot"}
}

// Apply writes the note to the disk, and then requests the reboot. Apply returns while the host
// shuts down.
func (r *Reboot) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if r.Done {
		before, _ := r.readNote(sys)
		before.Done = sys.RunID()
		return nil, receipt.Write(sys, notePath(r.Step), before)
	}
	now, err := bootID(sys)
	if err != nil {
		return nil, err
	}
	note, again := rebootNote{Step: r.Step, Boot: now, At: time.Now()}, false
	if before, ok := r.readNote(sys); ok && before.Boot == now && before.Done == "" && time.Since(before.At).Abs() < goesDown {
		note.At, again = before.At, true
	}
	if err := receipt.Write(sys, notePath(r.Step), note); err != nil {
		return nil, fmt.Errorf("noting that a reboot is asked for: %w", err)
	}
	// The record stays, whatever the outcome of the program.
	argv := r.argv(sys)
	res, err := sys.Run(ctx, engine.Command{Argv: argv})
	switch {
	case err != nil:
		return nil, fmt.Errorf("running %s: %w", hostcmd.Quote(argv), err)
	// A code above 128 means that the shutdown has ended the program; a host that a
	// killed run asked before is already shutting down.
	case res.Exit == 0, res.Exit > 128, again:
		return nil, nil
	}
	// No reboot is in progress: the next run need not wait.
	note.At = time.Time{}
	if err := receipt.Write(sys, notePath(r.Step), note); err != nil {
		return nil, fmt.Errorf("noting that the host does not reboot: %w", err)
	}
	return nil, hostcmd.Failed(argv, res)
}

// argv returns the program that reboots. systemctl returns at once, and stops services in
// order.
func (r *Reboot) argv(sys engine.System) []string {
	if len(r.Command) > 0 {
		return r.Command
	}
	if _, err := os.Stat(sys.Path("/run/systemd/system")); err == nil {
		argv := []string{"systemctl", "reboot"}
		if r.Msg != "" {
			argv = append(argv, "--message="+r.Msg)
		}
		return argv
	}
	argv := []string{"shutdown", "-r", "now"}
	if r.Msg != "" {
		argv = append(argv, r.Msg)
	}
	return argv
}

// bootID returns the id of the boot, which changes with each boot.
func bootID(sys engine.System) (string, error) {
	data, err := os.ReadFile(sys.Path("/proc/sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("read the id of the boot, which shows a reboot: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
