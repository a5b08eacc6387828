package remote

import (
	"fmt"
	"strings"

	"deployer/engine/transport"
)

// Become is a way to become root.
type Become string

// The ways to become root.
const (
	NoBecome Become = "none" // do not
	Sudo     Become = "sudo"
	Doas     Become = "doas"
	Su       Become = "su" // asks for root's password, not for the user's
)

// method is the way as the probe knows it.
func (c *connector) method() string {
	switch b := c.opts.Become; {
	case b == "":
		return string(NoBecome)
	case c.opts.Password != "" && (b == Sudo || b == Doas):
		return string(b) + withPassword
	default:
		return string(b)
	}
}

// withPassword ends the name of a method that may ask for one.
const withPassword = "-password"

// wantsTerminal is true for the methods that read the password from a terminal
// and nowhere else, and after sudo has said that it wants one, too.
func (c *connector) wantsTerminal() bool {
	return c.terminal || c.opts.Become == Su || c.opts.Become == Doas && c.opts.Password != ""
}

// answerPrompt gives the password when it is asked for. It is given once: a
// second question means that it is wrong, and another try might lock the account.
func (c *connector) answerPrompt(t *probe) error {
	if !t.becoming.Load() || !t.prompted(c.prompt()) {
		return nil
	}
	if t.passwordSent {
		return c.wrongPassword(t)
	}
	if c.opts.Password == "" {
		return c.noPassword(t)
	}
	t.passwordSent = true
	_, err := fmt.Fprintln(t.Stdin(), c.opts.Password)
	return err
}

// prompt is what sudo is told to ask with: nothing else has it, whatever language
// the host speaks. The others cannot be told.
func (c *connector) prompt() string {
	if c.opts.Become == Sudo {
		return c.marker + sudoPrompt
	}
	return ""
}

// prompted is true when a question stands at the end of what was said and is not
// answered: with the given prompt, or if that is not known, an unfinished line
// that ends with a colon and has done so for a moment.
func (t *probe) prompted(prompt string) bool {
	text := t.Stderr()
	if t.terminal {
		text = t.outputAfter(becomeLine)
	}
	if prompt != "" {
		n := strings.Count(text, prompt)
		if n == t.promptsSeen {
			return false
		}
		t.promptsSeen = n
		return true
	}
	fresh := text[min(t.promptsSeen, len(text)):]
	line := strings.TrimSpace(fresh[strings.LastIndexAny(fresh, "\r\n")+1:])
	asked := strings.HasSuffix(line, ":") || strings.HasSuffix(line, "：")
	settled := asked && text == t.lastText
	t.lastText = text
	if settled {
		t.promptsSeen = len(text)
	}
	return settled
}

func (c *connector) wrongPassword(t *probe) error {
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.BecomePassword,
		Err:    fmt.Errorf("%s refused the password%s", c.opts.Become, c.hostOutput(t.humanOutput())),
		Advice: "check the password (ssh.become_password_env, ssh.become_password_file, --ask-become-pass); it was tried once only, so that no account is locked"}
}

func (c *connector) noPassword(t *probe) error {
	return c.fail(transport.StageBecome, transport.BecomePassword,
		fmt.Errorf("%s does not let the user (uid %s) in without a password%s", c.opts.Become, t.uid, c.hostOutput(t.humanOutput())))
}
