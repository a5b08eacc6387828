package remote

import (
	"errors"
	"fmt"
	"strings"

	"deployer/engine/transport"
)

// errNeedsTerminal says that sudo works on a terminal only (requiretty).
var errNeedsTerminal = errors.New("sudo wants a terminal")

// notRoot explains a way to become root that has ended without having done so.
// The programs speak English here; see outerScript.
func (c *connector) notRoot(t *talk, words string) error {
	switch {
	case strings.Contains(words, "must have a tty") && !t.terminal:
		return errNeedsTerminal
	case isAny(words, notAllowed):
		return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
			Err: fmt.Errorf("%s lets the user (uid %s) not become root%s", c.opts.Become, t.uid, c.said(words)), Advice: allowance[c.opts.Become]}
	case t.answered:
		return c.wrongPassword(t)
	case isAny(words, passwordWanted):
		return c.noPassword(t)
	}
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
		Err: fmt.Errorf("%s did not become root%s", c.opts.Become, c.said(words)), Advice: allowance[c.opts.Become]}
}

// What sudo, doas and su say to those who may not use them, and to those who
// bring no password.
var (
	notAllowed     = []string{"sudoers", "not allowed", "may not run", "not permitted", "Permission denied"}
	passwordWanted = []string{"password is required", "Authentication required", "Authorization required"}
)

// allowance says how to let a user become root.
var allowance = map[Become]string{
	Sudo: "let the user run all commands as root in the host's sudoers file",
	Doas: "permit the user to run all commands as root in the host's doas.conf",
	Su:   "let the user use su: often it must be in the group wheel or sudo",
}

func isAny(text string, of []string) bool {
	for _, o := range of {
		if strings.Contains(text, o) {
			return true
		}
	}
	return false
}

// notThere is the error of a host without the program.
func (c *connector) notThere() error {
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageBecome, Kind: transport.Config,
		Err: fmt.Errorf("there is no %s on the host", c.opts.Become), Advice: "install it there, choose another way (ssh.become), or log in as root (ssh.user: root)"}
}
