package reboot

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/hostcmd"
	"deployer/tasks/reboot"
)

type lost struct{}

func (lost) Error() string   { return "connection lost" }
func (lost) Retryable() bool { return true }

// rebootScript is a host with scripted answers to its module and its commands, in
// order.
type rebootScript struct {
	actx    *actiontest.Context
	answers []func() (engine.Result, error) // answers of the module, in order
	tests   int                             // number of failures of test_command
	did     []string
}

func newRebootScript(answers ...func() (engine.Result, error)) *rebootScript {
	s := &rebootScript{answers: answers}
	s.actx = &actiontest.Context{Name: "m1", RunFunc: func(_ context.Context, _, module string, args engine.Module) (engine.Result, error) {
		s.did = append(s.did, module)
		if module == "command" {
			if s.tests--; s.tests >= 0 {
				return engine.Result{Status: engine.StatusFailed, Failure: &engine.Failure{Message: "starting"}}, nil
			}
			return engine.Result{Status: engine.StatusOK}, nil
		}
		if args.(*reboot.Reboot).Done {
			s.did[len(s.did)-1] = "done"
			return engine.Result{Status: engine.StatusChanged}, nil
		}
		next := s.answers[0]
		s.answers = s.answers[1:]
		return next()
	}, ReconnectFunc: func(context.Context) error {
		s.did = append(s.did, "reconnect")
		return nil
	}}
	return s
}

// failing makes the test command fail the given number of times.
func (s *rebootScript) failing(times int) *rebootScript {
	s.tests = times
	return s
}

func begins() (engine.Result, error) { return engine.Result{Status: engine.StatusChanged}, nil }
func goes() (engine.Result, error)   { return engine.Result{}, lost{} }
func is() (engine.Result, error)     { return engine.Result{Status: engine.StatusOK}, nil }
func refuses() (engine.Result, error) {
	return engine.Result{Status: engine.StatusFailed, Failure: &engine.Failure{Message: "not as this user"}}, nil
}

func TestReboot(t *testing.T) {
	t.Parallel()
	// A command that is retried stands in did once.
	for name, c := range map[string]struct {
		host *rebootScript
		args Reboot
		did  []string
		err  string
	}{
		"a reboot":                                   {newRebootScript(begins, is), Reboot{}, []string{"host_reboot", "reconnect", "host_reboot", "done"}, ""},
		"connection lost before the result":          {newRebootScript(goes, is), Reboot{}, []string{"host_reboot", "reconnect", "host_reboot", "done"}, ""},
		"host responds again before it goes down":    {newRebootScript(begins, begins, is), Reboot{}, []string{"host_reboot", "reconnect", "host_reboot", "reconnect", "host_reboot", "done"}, ""},
		"rebooted by a killed run":                   {newRebootScript(is), Reboot{}, []string{"host_reboot", "done"}, ""},
		"refused":                                    {newRebootScript(refuses), Reboot{}, []string{"host_reboot"}, "not as this user"},
		"the agent cannot record the step":           {newRebootScript(func() (engine.Result, error) { return engine.Result{}, errors.New("disk full") }), Reboot{}, []string{"host_reboot"}, "disk full"},
		"test command succeeds at the first attempt": {newRebootScript(begins, is), Reboot{TestCommand: hostcmd.Words{"true"}}, []string{"host_reboot", "reconnect", "host_reboot", "command", "done"}, ""},
		"a pause before and after":                   {newRebootScript(begins, is), Reboot{PreRebootDelay: time.Millisecond, PostRebootDelay: time.Millisecond}, []string{"host_reboot", "reconnect", "host_reboot", "done"}, ""},
		"test command never succeeds": {newRebootScript(begins, is).failing(100), Reboot{TestCommand: hostcmd.Words{"systemctl", "is-system-running"}, RebootTimeout: time.Second}, []string{"host_reboot", "reconnect", "host_reboot", "command"},
			"the host has rebooted, but systemctl is-system-running does not succeed: timeout after 1s: starting"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.args.Apply(t.Context(), c.host.actx, engine.Change{})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if !slices.Equal(slices.Compact(c.host.did), c.did) {
				t.Errorf("did %q, want %q", c.host.did, c.did)
			}
			if c.err != "" && slices.Contains(c.host.did, "done") {
				t.Error("the record of the reboot is lost: the next run reboots again")
			}
		})
	}
}

func TestCheckAlwaysNeedsAReboot(t *testing.T) {
	t.Parallel()
	change, err := (&Reboot{}).Check(t.Context(), &actiontest.Context{})
	if err != nil || !change.Needed || change.Effects[0].Kind != engine.EffectReboot {
		t.Errorf("%+v, %v", change, err)
	}
}
