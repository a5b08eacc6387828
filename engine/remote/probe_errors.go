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

// hostOutput formats output of the host for the end of an error. hostOutput removes the
// password, which a terminal may have echoed.
func (c *connector) hostOutput(words string) string {
	if c.opts.Password != "" {
		words = strings.ReplaceAll(words, c.opts.Password, "(password)")
	}
	// sudo repeats a command that it refuses: a page of script.
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

// finalOutput closes a probe whose output has ended, and returns its output. finalOutput
// waits for the end for a second at most.
func (c *connector) finalOutput(t *probe) string {
	closeProcess(t)
	return t.humanOutput()
}

// closeProcess waits a second for the end of a process, and closes it.
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

// explainNoAnswer returns the error for a probe that ended without the expected
// answers.
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
		err = errors.New("the command has exited")
	}
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageAgent, Kind: transport.Config,
		Err:    fmt.Errorf("%s: %w%s", what, err, c.hostOutput(words)),
		Advice: "check that the user's login shell on the host runs commands (try: ssh HOST uname)"}
}

// probeError returns the error for a host on which the agent cannot run; nil
// otherwise.
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
		return fmt.Errorf("unknown answer to the probe: %q", sanitize.Text(t.problem))
	}
	if c.method() != string(NoBecome) && t.user != "0" {
		return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
			Err: fmt.Errorf("%s became the user with uid %s, not root", c.opts.Become, sanitize.Text(t.user)), Advice: becomeAdvice[c.opts.Become]}
	}
	return nil
}

func (c *connector) fail(stage transport.Stage, kind transport.Kind, err error) error {
	return &transport.Error{Host: c.opts.Host, Stage: stage, Kind: kind, Err: err}
}
