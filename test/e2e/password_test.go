//go:build lab

package e2e

import (
	"strings"

	"deployer/engine/remote"
	"deployer/engine/transport"
)

// passwords logs in as a user who has no key.
func passwords(r *reached) {
	r.sshd("PasswordAuthentication yes", "KbdInteractiveAuthentication no")
	logsIn(r)
}

// interactivePasswords does so where the server lets PAM ask.
func interactivePasswords(r *reached) {
	r.sshd("PasswordAuthentication no", "KbdInteractiveAuthentication yes", "UsePAM yes")
	logsIn(r)
}

func logsIn(r *reached) {
	r.t.Helper()
	t := r.target("pw")
	t.Keys, t.Password = []string{}, "lab-password"
	if uid, _ := r.works(t, remote.Sudo, t.Password); uid != "0" {
		r.t.Errorf("uid %s", uid)
	}
	since := r.do("date '+%F %T'")
	t.Password = "wrong-secret"
	r.refused(t, remote.NoBecome, "", transport.LoginPassword, "as user pw: ", "tried once only")
	if failures := r.do("journalctl --since '" + since + "' | grep -c 'authentication failure;' || true"); failures != "1" {
		r.t.Errorf("the host has heard of %s wrong passwords", failures)
	}
	r.sshd("PasswordAuthentication no", "KbdInteractiveAuthentication no")
	r.refused(t, remote.NoBecome, "", transport.Auth, "the server did not ask for the password")
	if said := r.do("journalctl --since '" + since + "'"); strings.Contains(said, "wrong-secret") {
		r.t.Error("the password is in the log of the host")
	}
}
