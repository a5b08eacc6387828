package ssh

import (
	"context"
	"errors"
	"fmt"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/sanitize"
	"deployer/engine/transport"
)

// passwordLogin answers a server's password prompt with the target's password, once:
// another try might lock the account.
type passwordLogin struct {
	ctx  context.Context
	t    Target
	all  *transport.Passwords
	turn *transport.Attempt // nil until the password was sent
	err  error              // why the password was not sent
}

// methods returns the two methods by which servers ask for a password, the
// unambiguous one first.
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

// answer answers keyboard-interactive prompts: a single hidden prompt for a password
// gets the password, no prompt (a greeting) gets no answer. A prompt for a one-time
// code, or for the password of another account, is an error.
func (p *passwordLogin) answer(_, _ string, questions []string, shown []bool) ([]string, error) {
	switch {
	case len(questions) == 0:
		return nil, nil
	case len(questions) > 1 || shown[0]:
		p.err = fmt.Errorf("the server asks for more than a password: %q", questions)
		return nil, p.err
	case !asksForPassword(questions[0]):
		p.err = fmt.Errorf("the server asks for something other than a password: %q", sanitize.Text(questions[0]))
		return nil, p.err
	}
	password, err := p.give()
	return []string{password}, err
}

// end reports the outcome of the authentication to the turn.
func (p *passwordLogin) end(err error, refused bool) {
	if p.turn == nil {
		return
	}
	if err != nil && refused {
		err = &transport.Error{Kind: transport.LoginPassword, Err: err}
	}
	p.turn.End(p.t.Host, err)
}

// explain adds advice to a refusal in which the password may have played a part.
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
		e.Advice = "the server did not ask for the password: permit passwords there (PasswordAuthentication yes in sshd_config), or log in with a key"
	}
	return e
}
