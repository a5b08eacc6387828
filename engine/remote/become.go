package remote

import (
	"fmt"
	"strings"

	"deployer/engine/transport"
)

// Become is a method to become root.
type Become string

// The methods to become root.
const (
	NoBecome Become = "none" // stay the login user
	Sudo     Become = "sudo"
	Doas     Become = "doas"
	Su       Become = "su" // asks for the password of root, not of the user
)

// method returns the method by its name in the probe.
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

// withPassword is the suffix of a method that may ask for a password.
const withPassword = "-password"

// wantsTerminal reports whether the probe needs a terminal: for methods that read
// the password from nowhere else, and after sudo has asked for one (requiretty).
func (c *connector) wantsTerminal() bool {
	return c.terminal || c.opts.Become == Su || c.opts.Become == Doas && c.opts.Password != ""
}

// answerPrompt sends the password when the host asks for it, once: a second prompt
// means that the password is wrong, and another try might lock the account.
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

// prompt returns the prompt that sudo gets as an option, which no other text contains,
// whatever the language of the host. The other methods have no such option.
func (c *connector) prompt() string {
	if c.opts.Become == Sudo {
		return c.marker + sudoPrompt
	}
	return ""
}

// prompted reports whether the output ends with an unanswered prompt: the given one
// or, if prompt is empty, an unfinished line that ends with a colon and stays so for
// one watchInterval.
func (t *probe) prompted(prompt string) bool {
	text := t.Stderr()
	if t.terminal {
		text = t.outputAfter(becomeLine)
		if text == "" { // a lecture that is longer than the kept output
			text = t.stdoutTail.tail.String()
		}
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
		fmt.Errorf("%s wants a password for the user (uid %s)%s", c.opts.Become, t.uid, c.hostOutput(t.humanOutput())))
}
