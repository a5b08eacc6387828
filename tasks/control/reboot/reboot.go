// Package reboot reboots hosts and waits until they are back.
package reboot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/command"
	"deployer/tasks/hostcmd"
	"deployer/tasks/poll"
	"deployer/tasks/reboot"
)

// Resumes is the service that names the run that the present run continues.
type Resumes string

// Reboot reboots the host and waits until it is back. A run that continues
// a killed one finds the host rebooted, and does not
// reboot it again.
type Reboot struct {
	Msg             string        `yaml:"msg" rule:"text" doc:"message to logged-in users; default \"deployer reboots this host\""`
	PreRebootDelay  time.Duration `yaml:"pre_reboot_delay" range:"0s.." doc:"delay before the reboot; default none"`
	PostRebootDelay time.Duration `yaml:"post_reboot_delay" range:"0s.." doc:"delay after the host is back, before test_command; default none"`
	RebootTimeout   time.Duration `yaml:"reboot_timeout" range:"0s.." doc:"maximum wait until the host is back and test_command succeeds; default 10m"`
	TestCommand     hostcmd.Words `yaml:"test_command" rule:"text" doc:"program that must end with exit code 0 once the host is back, as a list or a text, without a shell; repeated until it succeeds. Default: none, the agent's answer is enough"`
	RebootCommand   hostcmd.Words `yaml:"reboot_command" rule:"text" doc:"program that reboots the host; default systemctl reboot, or shutdown -r now where systemd does not run"`
}

var _ engine.Action = (*Reboot)(nil)

// Check never finds the host rebooted: each request for a reboot reboots.
func (r *Reboot) Check(context.Context, engine.ActionContext) (engine.Change, error) {
	return engine.Changed(reboot.Effect()), nil
}

// Apply reboots the host and waits. The output has rebooted and elapsed, seconds.
func (r *Reboot) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	began := time.Now()
	if err := pause(ctx, actx, r.PreRebootDelay, "before the reboot"); err != nil {
		return nil, err
	}
	timeout := cmp.Or(r.RebootTimeout, 10*time.Minute)
	late, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the host is not back within %s", timeout))
	defer cancel()
	if err := r.reboot(late, actx); err != nil {
		return nil, err
	}
	if err := pause(ctx, actx, r.PostRebootDelay, "after the reboot"); err != nil {
		return nil, err
	}
	if err := r.test(ctx, actx, timeout-time.Since(began)); err != nil {
		return nil, err
	}
	// From here on only a run that resumes this one finds the reboot done.
	if err := settled(actx.RunOn(ctx, actx.Host(), "host_reboot", &reboot.Reboot{Step: actx.Step(), Done: true})); err != nil {
		return nil, err
	}
	return engine.Output{"rebooted": true, "elapsed": time.Since(began).Seconds()}, nil
}

// reboot asks the host until it reports that it has rebooted for this step. A host that
// shuts down may be gone before it answers, and may answer once more before it
// is gone.
func (r *Reboot) reboot(ctx context.Context, actx engine.ActionContext) error {
	resumes, _ := engine.Service[Resumes](actx.Services())
	ask := &reboot.Reboot{Step: actx.Step(), Resumes: string(resumes), Msg: cmp.Or(r.Msg, "deployer reboots this host"), Command: r.RebootCommand}
	for {
		res, err := actx.RunOn(ctx, actx.Host(), "host_reboot", ask)
		switch err := settled(res, err); {
		case err != nil && !isLost(err):
			return err
		case err == nil && res.Status == engine.StatusOK:
			return nil
		}
		actx.Progress("the host reboots; waiting until it is back")
		if err := actx.Reconnect(ctx); err != nil {
			return err
		}
	}
}

// isLost distinguishes a lost connection from a host that refuses.
func isLost(err error) bool {
	var r interface{ Retryable() bool }
	return errors.As(err, &r)
}

// settled is the failure of a module on the host.
func settled(res engine.Result, err error) error {
	if err == nil && res.Failure != nil {
		return res.Failure
	}
	return err
}

// test tries test_command until it succeeds.
func (r *Reboot) test(ctx context.Context, actx engine.ActionContext, left time.Duration) error {
	if len(r.TestCommand) == 0 {
		return nil
	}
	said := ""
	err := poll.Until(ctx, max(left, time.Second), time.Second, func(ctx context.Context) (string, bool, error) {
		res, err := actx.RunOn(ctx, actx.Host(), "command", &command.Command{Cmd: r.TestCommand, ReadOnly: true})
		switch {
		case err != nil:
			return "", false, err
		case res.Failure == nil:
			return "", true, nil
		}
		if said != res.Failure.Message {
			said = res.Failure.Message
			actx.Progress("the host is back; waiting for test_command: " + said)
		}
		return said, false, nil
	})
	if err != nil {
		return fmt.Errorf("the host has rebooted, but %s does not succeed: %w", hostcmd.Quote(r.TestCommand), err)
	}
	return nil
}

func pause(ctx context.Context, actx engine.ActionContext, d time.Duration, when string) error {
	if d <= 0 {
		return nil
	}
	actx.Progress(strings.Join([]string{"pausing", d.String(), when}, " "))
	return poll.Sleep(ctx, d)
}
