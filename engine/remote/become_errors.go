package remote

import (
	"errors"
	"fmt"
	"strings"

	"deployer/engine/transport"
)

// errNeedsTerminal says that sudo works only on a terminal (requiretty).
var errNeedsTerminal = errors.New("sudo needs a terminal")

// becomeFailed returns the error for a method that ended without becoming root. The
// programs print English messages here; see outerScript.
func (c *connector) becomeFailed(t *probe, words string) error {
	switch {
	case strings.Contains(words, "must have a tty") && !t.terminal:
		return errNeedsTerminal
	case containsAny(words, notAllowed):
		return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
			Err: fmt.Errorf("%s does not permit the user (uid %s) to become root%s", c.opts.Become, t.uid, c.hostOutput(words)), Advice: becomeAdvice[c.opts.Become]}
	case t.passwordSent:
		return c.wrongPassword(t)
	case containsAny(words, passwordWanted):
		return c.noPassword(t)
	}
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
		Err: fmt.Errorf("%s did not become root%s", c.opts.Become, c.hostOutput(words)), Advice: becomeAdvice[c.opts.Become]}
}

// Parts of the messages of sudo, doas and su for users who may not use them, and for a
// missing password.
var (
	notAllowed     = []string{"sudoers", "not allowed", "may not run", "not permitted", "Permission denied"}
	passwordWanted = []string{"password is required", "Authentication required", "Authorization required"}
)

// becomeAdvice returns advice for permitting a user to become root.
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

// becomeMissing returns the error for a host without the method's program.
func (c *connector) becomeMissing() error {
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
		Err: fmt.Errorf("there is no %s on the host", c.opts.Become), Advice: "install it there, choose another way (ssh.become), or log in as root (ssh.user: root)"}
}
