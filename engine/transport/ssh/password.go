package ssh

import (
	"context"
	"errors"
	"fmt"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/sanitize"
	"deployer/engine/transport"
)

// passwordLogin gives a server the target's password when it asks for one, and
// gives it once: another try might lock the account.
type passwordLogin struct {
	ctx  context.Context
	t    Target
	all  *transport.Passwords
	turn *transport.Turn // nil until it was given
	err  error           // why it was not given
}

// methods are the two ways in which servers ask for passwords. The one that can
// mean nothing else comes first.
func (p *passwordLogin) methods() []gossh.AuthMethod {
	if p.t.Password == "" {
		return nil
	}
	return []gossh.AuthMethod{gossh.PasswordCallback(p.give), gossh.KeyboardInteractive(p.answer)}
}

func (p *passwordLogin) give() (string, error) {
	if p.turn != nil {
		return "", errors.New("the server has refused the password")
	}
	if p.turn, p.err = p.all.Take(p.ctx, p.t.Login(), p.t.Password); p.err != nil {
		return "", p.err
	}
	return p.t.Password, nil
}

// answer is for keyboard-interactive: one hidden question that asks for a password
// is answered; none are words of welcome. A server that asks for a one-time code,
// or for the password of another account, gets nothing.
func (p *passwordLogin) answer(_, _ string, questions []string, shown []bool) ([]string, error) {
	switch {
	case len(questions) == 0:
		return nil, nil
	case len(questions) > 1 || shown[0]:
		p.err = fmt.Errorf("the server asks for more than a password: %q", questions)
		return nil, p.err
	case !asksForPassword(questions[0]):
		p.err = fmt.Errorf("the server asks for something else than a password: %q", sanitize.Text(questions[0]))
		return nil, p.err
	}
	password, err := p.give()
	return []string{password}, err
}

// end says what came of it, after an authentication that was refused or not.
func (p *passwordLogin) end(err error, refused bool) {
	if p.turn == nil {
		return
	}
	if err != nil && refused {
		err = &transport.Error{Kind: transport.LoginPassword, Err: err}
	}
	p.turn.End(p.t.Host, err)
}

// explain tells of a refusal in which a password could have played a part.
func (p *passwordLogin) explain(e *transport.Error) *transport.Error {
	var before *transport.RefusedError
	switch {
	case p.t.Password == "":
	case errors.As(p.err, &before):
		e.Kind, e.Err, e.Advice = transport.LoginPassword, before, "check the password (ssh.password_env, ssh.password_file, --ask-pass)"
	case p.err != nil:
		e.Err = p.err
	case p.turn != nil:
		e.Kind = transport.LoginPassword
	default:
		e.Advice = "the server did not ask for the password: allow it there (PasswordAuthentication yes in sshd_config), or log in with a key"
	}
	return e
}
