package agent

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"deployer/engine/transport"
)

// said is what a command wrote to the standard error, to be put after a
// message.
func said(stderr string) string {
	text := strings.TrimSpace(clean(strings.ReplaceAll(stderr, sudoPrompt, "")))
	if text == "" {
		return ""
	}
	if len(text) > 500 {
		text = "..." + text[len(text)-500:]
	}
	return ": " + strings.Join(strings.Fields(text), " ")
}

// lastWords ends a command whose output has ended, and returns what it wrote to
// the standard error. An end that is slow to come is not waited for.
func lastWords(p transport.Process) string {
	ended := make(chan struct{})
	go func() {
		_, _ = p.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Second):
	}
	_ = p.Close()
	return said(p.Stderr())
}

// refusal is the error of a host on which the agent cannot run.
func (c *connector) refusal(h *probed) error {
	switch h.problem {
	case "":
		return nil
	case "sudo-missing":
		return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
			Err: errors.New("there is no sudo on the host"), Advice: "install sudo there, or log in as root (ssh.user: root)"}
	case "sudo-password":
		return c.fail(transport.StageBecome, transport.BecomePassword, fmt.Errorf("sudo does not let the user (uid %s) in without a password%s", h.uid, said(h.sudoSays)))
	case "unsupported":
		return &transport.Error{Host: c.opts.Host, Stage: transport.StageAgent, Kind: transport.Config,
			Err:    fmt.Errorf("there is no agent for %s", clean(h.system)),
			Advice: fmt.Sprintf("this build of deployer brings agents for Linux on %s", strings.Join(c.opts.Binaries.built(), " and "))}
	case "no-directory":
		return &transport.Error{Host: c.opts.Host, Stage: transport.StageAgent, Kind: transport.Config,
			Err:    fmt.Errorf("no directory on the host can hold and run the agent: %s", clean(strings.Join(h.tried, "; "))),
			Advice: "free some space, or allow programs to run in one of these directories"}
	}
	return fmt.Errorf("the host gave an unknown answer to the probe: %q", clean(h.problem))
}

func (c *connector) fail(stage transport.Stage, kind transport.Kind, err error) error {
	return &transport.Error{Host: c.opts.Host, Stage: stage, Kind: kind, Err: err}
}
