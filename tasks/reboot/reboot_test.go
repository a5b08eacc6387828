package reboot

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/receipt"
	"deployer/tasks/tasktest"
)

const step = "site.yaml/1..2/reboot"

const idFile = "/proc/sys/kernel/random/boot_id"

// host returns a host that has another boot id immediately after a reboot.
func host(t *testing.T, fails error) (*tasktest.System, *[]string) {
	t.Helper()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/run/systemd/system")
	sys.Write(t, idFile, "first\n", 0o644)
	ran := &[]string{}
	sys.Exec = func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
		if fails != nil {
			return engine.CommandResult{}, fails
		}
		*ran = append(*ran, strings.Join(cmd.Argv, " "))
		if !receipt.Read(sys, notePath(step), &rebootNote{}) {
			t.Error("the reboot began before it was noted who asked for it")
		}
		sys.Write(t, idFile, "second\n", 0o644)
		return engine.CommandResult{}, nil
	}
	return sys, ran
}

// TestRebootOncePerStepOfARun: the host reboots once for a step of a run and of the runs
// that resume it. Any other run reboots the host again.
func TestRebootOncePerStepOfARun(t *testing.T) {
	t.Parallel()
	sys, ran := host(t, nil)
	r := &Reboot{Step: step, Msg: "back soon"}
	if change := tasktest.Check(t, sys, r); !change.Needed || change.Effects[0].Kind != engine.EffectReboot {
		t.Fatalf("change %+v", change)
	}
	for range 3 {
		if _, _, err := tasktest.Run(t, sys, r); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"systemctl reboot --message=back soon"}; !slices.Equal(*ran, want) {
		t.Errorf("ran %q, want %q", *ran, want)
	}
	if change := tasktest.Check(t, sys, &Reboot{Step: "site.yaml/1..9/reboot"}); !change.Needed {
		t.Error("another step does not get its reboot")
	}
	tasktest.Converge(t, sys, &Reboot{Step: step, Done: true})
	var left rebootNote
	if !receipt.Read(sys, notePath(step), &left) || left.Done != sys.RunID() {
		t.Fatalf("noted %+v", left)
	}
	left.Done = "run-1"
	if err := receipt.Write(sys, notePath(step), left); err != nil {
		t.Fatal(err)
	}
	if change := tasktest.Check(t, sys, r); !change.Needed {
		t.Error("the next run does not get its reboot")
	}
	on := &Reboot{Step: step, Resumes: "run-1"}
	if change := tasktest.Check(t, sys, on); change.Needed {
		t.Error("a run that goes on from the one that has rebooted the host does so again")
	}
	tasktest.Converge(t, sys, &Reboot{Step: step, Done: true})
	if change := tasktest.Check(t, sys, on); change.Needed {
		t.Error("the run that goes on does not count as the one that has rebooted the host")
	}
}

// TestRecordExpiresAfterADay: the record of a reboot that no run has resumed for a day
// is ignored.
func TestRecordExpiresAfterADay(t *testing.T) {
	t.Parallel()
	sys, _ := host(t, nil)
	for age, needed := range map[time.Duration]bool{time.Hour: false, recent + time.Hour: true} {
		if err := receipt.Write(sys, notePath(step), rebootNote{Step: step, Boot: "zeroth", At: time.Now().Add(-age)}); err != nil {
			t.Fatal(err)
		}
		if change := tasktest.Check(t, sys, &Reboot{Step: step}); change.Needed != needed {
			t.Errorf("asked for %s ago: needed %t", age, change.Needed)
		}
	}
}

// TestInterruptedRebootCommandCountsAfterTheReboot: the reboot may kill its own command.
// The record of the request stays on the disk, and counts only after the boot id has
// changed.
func TestInterruptedRebootCommandCountsAfterTheReboot(t *testing.T) {
	t.Parallel()
	sys, _ := host(t, errors.New("killed"))
	r := &Reboot{Step: step, Command: hostcmd.Words{"kexec", "-e"}}
	if _, _, err := tasktest.Run(t, sys, r); err == nil || !strings.Contains(err.Error(), "kexec -e") {
		t.Errorf("error %v", err)
	}
	if change := tasktest.Check(t, sys, r); !change.Needed {
		t.Error("a host that is still up counts as rebooted")
	}
	sys.Write(t, idFile, "second\n", 0o644)
	if change := tasktest.Check(t, sys, r); change.Needed {
		t.Error("a host that has rebooted is rebooted again")
	}
}

// TestRefusedRebootCommandFailsUnlessTheHostGoesDown: a host that is going down for a
// killed run refuses another reboot, which is no failure. A refusal of the first request
// is.
func TestRefusedRebootCommandFailsUnlessTheHostGoesDown(t *testing.T) {
	t.Parallel()
	sys, _ := host(t, nil)
	refuse := func(context.Context, engine.Command) (engine.CommandResult, error) {
		return engine.CommandResult{Exit: 1, Stderr: "Failed to connect to bus"}, nil
	}
	sys.Exec = refuse
	r := &Reboot{Step: step}
	for range 2 {
		if _, _, err := tasktest.Run(t, sys, r); err == nil || !strings.Contains(err.Error(), "Failed to connect to bus") {
			t.Errorf("the first request: %v", err)
		}
	}
	sys.Exec = func(context.Context, engine.Command) (engine.CommandResult, error) {
		return engine.CommandResult{}, nil
	}
	if _, _, err := tasktest.Run(t, sys, r); err != nil {
		t.Fatal(err)
	}
	sys.Exec = refuse
	if _, _, err := tasktest.Run(t, sys, r); err != nil {
		t.Errorf("a host that is going down: %v", err)
	}
	var left rebootNote
	receipt.Read(sys, notePath(step), &left)
	left.At = left.At.Add(-goesDown)
	if err := receipt.Write(sys, notePath(step), left); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tasktest.Run(t, sys, r); err == nil {
		t.Error("a host that has not gone down for long is waited for without a word")
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	if got, want := (&Reboot{Msg: "x y"}).argv(sys), []string{"shutdown", "-r", "now", "x y"}; !slices.Equal(got, want) {
		t.Errorf("without systemd: %q, want %q", got, want)
	}
}
