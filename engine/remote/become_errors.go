package remote

import (
	"errors"
	"fmt"
	"strings"

	"deployer/engine/transport"
)

// errNeedsTerminal says that sudo works on a terminal only (requiretty).
var errNeedsTerminal = errors.New("sudo wants a terminal")

// becomeFailed explains a way to become root that has ended without having done so.
// The programs speak English here; see outerScript.
func (c *connector) becomeFailed(t *probe, words string) error {
	switch {
	case strings.Contains(words, "must have a tty") && !t.terminal:
		return errNeedsTerminal
	case containsAny(words, notAllowed):
		return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
			Err: fmt.Errorf("%s lets the user (uid %s) not become root%s", c.opts.Become, t.uid, c.hostOutput(words)), Advice: becomeAdvice[c.opts.Become]}
	case t.passwordSent:
		return c.wrongPassword(t)
	case containsAny(words, passwordWanted):
		return c.noPassword(t)
	}
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
		Err: fmt.Errorf("%s did not become root%s", c.opts.Become, c.hostOutput(words)), Advice: becomeAdvice[c.opts.Become]}
}

// What sudo, doas and su say to those who may not use them, and to those who
// bring no password.
var (
	notAllowed     = []string{"sudoers", "not allowed", "may not run", "not permitted", "Permission denied"}
	passwordWanted = []string{"password is required", "Authentication required", "Authorization required"}
)

// becomeAdvice says how to let a user become root.
var becomeAdvice = map[Become]string{
	Sudo: "let the user run all commands as root in the host's sudoers file",
	Doas: "permit the user to run all commands as root in the host's doas.conf",
	Su:   "let the user use su: often it must be in the group wheel or sudo",
}

func containsAny(text string, of []string) bool {
	for _, o := range of {
		if strings.Contains(text, o) {
			return true
		}
	}
	return false
}

// becomeMissing is the error of a host without the program.
func (c *connector) becomeMissing() error {
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
		Err: fmt.Errorf("there is no %s on the host", c.opts.Become), Advice: "install it there, choose another way (ssh.become), or log in as root (ssh.user: root)"}
}
