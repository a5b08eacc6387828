package reboot

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/control/sitetest"
	"deployer/tasks/hostcmd"
	"deployer/tasks/reboot"
)

type lost struct{}

func (lost) Error() string   { return "connection lost" }
func (lost) Retryable() bool { return true }

// story is a host that answers what its module and commands are asked, in turn.
type story struct {
	site    *sitetest.Site
	answers []func() (engine.Result, error) // to reboot
	tests   int                             // how often test_command fails
	did     []string
}

func newStory(answers ...func() (engine.Result, error)) *story {
	s := &story{answers: answers}
	s.site = &sitetest.Site{Name: "m1", RunFunc: func(_ context.Context, _, module string, args engine.Module) (engine.Result, error) {
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

// failing has the test command fail so often.
func (s *story) failing(times int) *story {
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
	// A command that is tried again stands in did once.
	for name, c := range map[string]struct {
		story *story
		args  Reboot
		did   []string
		err   string
	}{
		"plainly":                              {newStory(begins, is), Reboot{}, []string{"host_reboot", "reconnect", "host_reboot", "done"}, ""},
		"gone before it answers":               {newStory(goes, is), Reboot{}, []string{"host_reboot", "reconnect", "host_reboot", "done"}, ""},
		"answers once more before it goes":     {newStory(begins, begins, is), Reboot{}, []string{"host_reboot", "reconnect", "host_reboot", "reconnect", "host_reboot", "done"}, ""},
		"a killed run has rebooted it":         {newStory(is), Reboot{}, []string{"host_reboot", "done"}, ""},
		"refused":                              {newStory(refuses), Reboot{}, []string{"host_reboot"}, "not as this user"},
		"the agent cannot write down the step": {newStory(func() (engine.Result, error) { return engine.Result{}, errors.New("disk full") }), Reboot{}, []string{"host_reboot"}, "disk full"},
		"the test command, once it is tried":   {newStory(begins, is), Reboot{TestCommand: hostcmd.Words{"true"}}, []string{"host_reboot", "reconnect", "host_reboot", "command", "done"}, ""},
		"a pause before and after":             {newStory(begins, is), Reboot{PreRebootDelay: time.Millisecond, PostRebootDelay: time.Millisecond}, []string{"host_reboot", "reconnect", "host_reboot", "done"}, ""},
		"the test command fails until the end": {newStory(begins, is).failing(100), Reboot{TestCommand: hostcmd.Words{"systemctl", "is-system-running"}, RebootTimeout: time.Second}, []string{"host_reboot", "reconnect", "host_reboot", "command"},
			"the host has rebooted, but systemctl is-system-running does not succeed: timeout after 1s: starting"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.args.Apply(t.Context(), c.story.site, engine.Change{})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if !slices.Equal(slices.Compact(c.story.did), c.did) {
				t.Errorf("did %q, want %q", c.story.did, c.did)
			}
			if c.err != "" && slices.Contains(c.story.did, "done") {
				t.Error("the reboot is forgotten, so the next run does it again")
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	change, err := (&Reboot{}).Check(t.Context(), &sitetest.Site{})
	if err != nil || !change.Needed || change.Effects[0].Kind != engine.EffectReboot {
		t.Errorf("%+v, %v", change, err)
	}
}
