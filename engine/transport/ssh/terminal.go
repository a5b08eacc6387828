package ssh

import (
	"context"
	"fmt"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
)

// rawModes are the modes of a terminal that passes bytes unchanged.
var rawModes = gossh.TerminalModes{
	gossh.ECHO: 0, gossh.ECHOE: 0, gossh.ECHOK: 0, gossh.ECHONL: 0, gossh.ECHOCTL: 0, gossh.ECHOKE: 0,
	gossh.ICANON: 0, gossh.ISIG: 0, gossh.IEXTEN: 0,
	gossh.OPOST: 0, gossh.ONLCR: 0, gossh.OCRNL: 0, gossh.ONOCR: 0, gossh.ONLRET: 0,
	gossh.ICRNL: 0, gossh.INLCR: 0, gossh.IGNCR: 0, gossh.IXON: 0, gossh.IXOFF: 0, gossh.IXANY: 0,
	gossh.ISTRIP: 0, gossh.INPCK: 0, gossh.IGNPAR: 0, gossh.PARMRK: 0, gossh.PARENB: 0, gossh.IUCLC: 0, gossh.OLCUC: 0,
	gossh.CS8: 1,
}

// StartTerminal implements transport.Terminals.
func (c *Conn) StartTerminal(ctx context.Context, command string) (transport.Process, error) {
	return c.startIn(ctx, command, true)
}

// giveTerminal requests a terminal for the session, of a type without cursor
// movement.
func (c *Conn) giveTerminal(session *gossh.Session) error {
	err := session.RequestPty("dumb", 24, 80, rawModes)
	if err == nil || isLoss(err) {
		return err
	}
	return &transport.Error{Host: c.host, Stage: transport.StageSession, Kind: transport.Config,
		Err: fmt.Errorf("the server refuses a terminal: %w", err), Advice: "permit it in the host's sshd_config (PermitTTY), or in authorized_keys"}
}
