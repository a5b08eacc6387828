package remote

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"deployer/engine/sanitize"
	"deployer/engine/transport"
)

// hostOutput is what a host said, to be put after a message; without the password, as
// a terminal may have echoed it.
func (c *connector) hostOutput(words string) string {
	if c.opts.Password != "" {
		words = strings.ReplaceAll(words, c.opts.Password, "(password)")
	}
	// sudo repeats a command that it does not allow: a page of script.
	words, _, _ = strings.Cut(words, " to execute ")
	text := strings.Join(strings.Fields(sanitize.Text(words)), " ")
	if text == "" {
		return ""
	}
	if len(text) > 500 {
		text = "..." + strings.ToValidUTF8(text[len(text)-500:], "")
	}
	return ": " + text
}

// finalOutput ends a talk whose output has ended, and returns what was said. An
// end that is slow to come is not waited for.
func (c *connector) finalOutput(t *probe) string {
	closeProcess(t)
	return t.humanOutput()
}

func closeProcess(p transport.Process) {
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
}

// explainNoAnswer explains a talk that ended without the answers that were waited for.
func (c *connector) explainNoAnswer(t *probe, what string, err error) error {
	var known *transport.Error
	if errors.As(err, &known) || !errors.Is(err, io.EOF) && !errors.Is(err, errNoise) {
		return err
	}
	words := c.finalOutput(t)
	if lost := c.conn.Err(); lost != nil {
		return lost
	}
	if t.becoming.Load() {
		return c.becomeFailed(t, words)
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the command has ended")
	}
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageAgent, Kind: transport.Config,
		Err:    fmt.Errorf("%s: %w%s", what, err, c.hostOutput(words)),
		Advice: "check that the user's login shell on the host runs commands (try: ssh HOST uname)"}
}

// probeError is the error of a host on which the agent cannot run, nil where it can.
func (c *connector) probeError(t *probe) error {
	switch t.problem {
	case "":
	case "not-there":
		return c.becomeMissing()
	case "unsupported":
		return &transport.Error{Host: c.opts.Host, Stage: transport.StageAgent, Kind: transport.Config,
			Err:    fmt.Errorf("there is no agent for %s", sanitize.Text(t.system)),
			Advice: fmt.Sprintf("this build of deployer brings agents for Linux on %s", strings.Join(c.opts.Binaries.built(), " and "))}
	case "no-directory":
		return &transport.Error{Host: c.opts.Host, Stage: transport.StageAgent, Kind: transport.Config,
			Err:    fmt.Errorf("no directory on the host can hold and run the agent: %s", sanitize.Text(strings.Join(t.tried, "; "))),
			Advice: "free some space, or allow programs to run in one of these directories"}
	default:
		return fmt.Errorf("the host gave an unknown answer to the probe: %q", sanitize.Text(t.problem))
	}
	if c.method() != string(NoBecome) && t.user != "0" {
		return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
			Err: fmt.Errorf("%s has made the agent the user with uid %s, not root", c.opts.Become, sanitize.Text(t.user)), Advice: becomeAdvice[c.opts.Become]}
	}
	return nil
}

func (c *connector) fail(stage transport.Stage, kind transport.Kind, err error) error {
	return &transport.Error{Host: c.opts.Host, Stage: stage, Kind: kind, Err: err}
}
