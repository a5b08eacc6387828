//go:build lab

package e2e

import (
	"strings"

	"deployer/engine/remote"
	"deployer/engine/transport"
)

// passwords logs in with a password, as a user who has no key.
func passwords(r *sshHost) {
	r.sshd("PasswordAuthentication yes", "KbdInteractiveAuthentication no")
	requirePasswordLogin(r)
}

// interactivePasswords logs in with a password where the server uses
// keyboard-interactive authentication with PAM.
func interactivePasswords(r *sshHost) {
	r.sshd("PasswordAuthentication no", "KbdInteractiveAuthentication yes", "UsePAM yes")
	requirePasswordLogin(r)
}

func requirePasswordLogin(r *sshHost) {
	r.t.Helper()
	t := r.target("pw")
	t.Keys, t.Password = []string{}, "lab-password"
	if uid, _ := r.requireRoot(t, remote.Sudo, t.Password); uid != "0" {
		r.t.Errorf("uid %s", uid)
	}
	since := r.runScript("date '+%F %T'")
	t.Password = "wrong-secret"
	r.requireRefusal(t, remote.NoBecome, "", transport.LoginPassword, "as user pw: ", "tried once only")
	if failures := r.runScript("journalctl --since '" + since + "' | grep -c 'authentication failure;' || true"); failures != "1" {
		r.t.Errorf("the host has heard of %s wrong passwords", failures)
	}
	r.sshd("PasswordAuthentication no", "KbdInteractiveAuthentication no")
	r.requireRefusal(t, remote.NoBecome, "", transport.Auth, "the server did not ask for the password")
	if said := r.runScript("journalctl --since '" + since + "'"); strings.Contains(said, "wrong-secret") {
		r.t.Error("the password is in the log of the host")
	}
}
