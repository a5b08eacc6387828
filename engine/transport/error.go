package transport

import (
	"errors"
	"fmt"
	"strings"

	"deployer/engine/sanitize"
)

// Kind classifies an error of a connection.
type Kind string

// The kinds of error.
const (
	Unreachable    Kind = "unreachable"      // refused, no route, name not found
	Timeout        Kind = "timeout"          // no answer in time
	Lost           Kind = "lost"             // an established connection ended
	Auth           Kind = "auth"             // the host accepts none of the keys
	LoginPassword  Kind = "login-password"   // the host accepts neither the keys nor the password
	HostKeyUnknown Kind = "host-key-unknown" // the host's key is in no known_hosts file
	HostKeyChanged Kind = "host-key-changed" // the host's key is not the known one
	BecomePassword Kind = "become-password"  // sudo, doas or su needs a password, or refused it
	Config         Kind = "config"           // settings on the controller or the host prevent it
	Protocol       Kind = "protocol"         // the host violates the protocol of agents
)

// Stage is the stage of a connection at which an error happened.
type Stage string

// The stages, in order.
const (
	StageSettings  Stage = "settings"  // reading keys and known_hosts files
	StageBastion   Stage = "bastion"   // reaching the bastion
	StageConnect   Stage = "connect"   // TCP
	StageHandshake Stage = "handshake" // SSH key exchange and host key
	StageAuth      Stage = "auth"      // SSH user authentication
	StageSession   Stage = "session"   // opening a session, running a command
	StageBecome    Stage = "become"    // becoming root
	StageAgent     Stage = "agent"     // sending and starting the agent
	StageRun       Stage = "run"       // while the session is open
	StageDial      Stage = "dial"      // connecting from the host to a service
)

// Error is an error of a connection to a host.
type Error struct {
	Host  string
	Stage Stage
	Kind  Kind
	// Advice is the advice for the user; empty: the advice of the kind.
	Advice string
	Err    error
}

// Error returns the error in one line. The text is sanitized, as it may contain text
// of a server.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s", e.Host, e.Stage)
	if e.Err != nil {
		text += ": " + strings.Join(strings.Fields(sanitize.Text(e.Err.Error())), " ")
	}
	if a := e.advice(); a != "" {
		text += "; " + a
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same attempt may succeed later. An error of a key, a
// password or a setting never does.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case Unreachable, Timeout, Lost:
		return true
	}
	return false
}

var advice = map[Kind]string{
	Unreachable:    "check that the host is up, that its address and ssh.port are right, and that no firewall blocks the connection",
	Timeout:        "check the network and the load of the host, or raise ssh.connect_timeout",
	Lost:           "the host or the network failed; run deployer again to continue",
	Auth:           "check ssh.user and ssh.key, that the SSH agent holds the key, and authorized_keys on the host; for a password there are ssh.password_env and --ask-pass",
	HostKeyUnknown: "add the host's key to the known_hosts file after checking it, or set ssh.host_keys to accept-new",
	HostKeyChanged: "if the host was reinstalled, remove its old line from the known_hosts file; otherwise somebody may be intercepting the connection",
	LoginPassword:  "check the password (ssh.password_env, ssh.password_file, --ask-pass); it was tried once only, so that no account is locked",
	Protocol:       "examine the host before you use it again: its agent is damaged, or another program answers in its place",
	BecomePassword: "set ssh.become_password_env or ssh.become_password_file, give --ask-become-pass, or let the user become root without a password",
}

// serviceAdvice is the advice for a service that cannot be reached from a reachable
// host.
const serviceAdvice = "check that the service runs and listens there, and that no firewall on the host blocks it"

// loadAdvice is the advice for a host that accepted the login and then did nothing.
const loadAdvice = "check the load of the host and its disks, and the start-up files of the user's shell"

func (e *Error) advice() string {
	switch {
	case e.Advice != "":
		return e.Advice
	case e.Stage == StageDial && (e.Kind == Unreachable || e.Kind == Timeout):
		return serviceAdvice
	case e.Kind == Timeout && (e.Stage == StageSession || e.Stage == StageBecome || e.Stage == StageAgent):
		return loadAdvice
	}
	return advice[e.Kind]
}

// KindOf returns the kind of the first *Error in the tree of err; "" when there is
// none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
