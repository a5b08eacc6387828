//go:build lab

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/engine/remote"
	"deployer/engine/transport"
	"deployer/engine/transport/conformance"
	"deployer/engine/transport/ssh"
)

// TestTransport connects to one host with OpenSSH in all supported ways, with a new
// setup of the host for each. Nothing is preinstalled: no Python and, in most parts, no
// SFTP server.
func TestTransport(t *testing.T) {
	r := newSSHHost(t)
	r.runScript("rm /usr/bin/python3*") // came with fish, which works without
	r.runScript("sed -i '/^Subsystem/d' /etc/ssh/sshd_config; " + restartSSH)
	r.runScript("useradd --create-home --shell /usr/bin/fish fishy; useradd --create-home --shell /bin/tcsh seashell; useradd --create-home --shell /usr/sbin/nologin closed")
	for _, user := range []string{"fishy", "seashell", "closed"} {
		r.runScript(fmt.Sprintf("cp -r /root/.ssh /home/%s/ && chown -R %s /home/%s/.ssh", user, user, user))
	}
	for _, part := range []struct {
		name string
		run  func(*sshHost)
	}{
		{"conformance", transportConformance},
		{"one session at a time", oneSession},
		{"sixty connections at once", manyConnections},
		{"sudo", sudo},
		{"sudo with requiretty", requiretty},
		{"sudo with a long lecture", longLecture},
		{"doas", doas},
		{"su", su},
		{"shells", shells},
		{"directories", directories},
		{"user certificates", userCertificates},
		{"host certificates", hostCertificates},
		{"changed key", changedKey},
		{"two hops of a client configuration", twoHops},
		{"proxy command", proxyCommand},
		{"ssh agent", sshAgent},
		{"passwords", passwords},
		{"passwords by keyboard-interactive", interactivePasswords},
		{"forwarding forbidden", noForwarding},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(r.on(t)) })
	}
}

func transportConformance(r *sshHost) {
	d := r.dialer()
	conformance.Run(r.t, conformance.Subject{
		Open: func(t *testing.T) transport.Conn { return mustDial(t, d, r.target("root")) },
		Cut:  func() { r.runScript("pkill -f '^sshd: root'") }, Listen: r.listen,
	})
}

func mustDial(t *testing.T, d *ssh.Dialer, target ssh.Target) transport.Conn {
	t.Helper()
	c, err := d.Dial(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func oneSession(r *sshHost) {
	r.sshd("MaxSessions 1")
	d := r.dialer()
	conformance.Run(r.t, conformance.Subject{
		Open: func(t *testing.T) transport.Conn { return mustDial(t, d, r.target("root")) }, Listen: r.listen,
	})
	r.runScript("rm -rf /var/lib/deployer")
	for range 2 { // first without an agent on the host, then with one
		if uid, dir := r.requireRoot(r.target("root"), remote.NoBecome, ""); uid != "0" || dir != "/var/lib/deployer" {
			r.t.Errorf("uid %s in %s", uid, dir)
		}
	}
	// An agent that does not start is replaced, which takes a second session.
	r.runScript("for f in /var/lib/deployer/agent/*; do echo broken >$f.x; chmod 700 $f.x; mv $f.x $f; done")
	r.requireRoot(r.target("root"), remote.NoBecome, "")
}

func manyConnections(r *sshHost) {
	r.sshd("MaxStartups 10:30:100")
	since := r.runScript("date '+%F %T'")
	d := r.dialer()
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			c, err := d.Dial(r.t.Context(), r.target("root"))
			if err != nil {
				r.t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			if exit, err := c.Exec(r.t.Context(), "true", nil, nil); err != nil || exit.Code != 0 {
				r.t.Errorf("%+v, %v", exit, err)
			}
		})
	}
	all.Wait()
	if dropped := r.runScript("journalctl -u ssh --since '" + since + "' | grep -c MaxStartups || true"); dropped != "0" {
		r.t.Errorf("the server dropped %s connections", dropped)
	}
}

func sudo(r *sshHost) {
	r.put("/etc/sudoers.d/part", "0440", "Defaults secure_path=/usr/sbin:/usr/bin:/sbin:/bin\nDefaults lecture=always")
	if uid, _ := r.requireRoot(r.target("ops"), remote.Sudo, ""); uid != "0" {
		r.t.Errorf("uid %s", uid)
	}
	if uid, _ := r.requireRoot(r.target("pw"), remote.Sudo, "lab-password"); uid != "0" {
		r.t.Errorf("uid %s", uid)
	}
	r.requireRefusal(r.target("pw"), remote.Sudo, "", transport.BecomePassword, "a password is required", "ssh.become_password_env")
	r.requireRefusal(r.target("fishy"), remote.Sudo, "x", transport.BecomePassword, "refused the password")
	wrongPassword(r, remote.Sudo, "sudo refused the password")
}

// wrongPassword checks that a wrong password is sent once only.
func wrongPassword(r *sshHost, become remote.Become, want string) {
	r.t.Helper()
	since := r.runScript("date '+%F %T'")
	r.requireRefusal(r.target("pw"), become, "wrong-secret", transport.BecomePassword, want, "tried once only")
	failures := r.runScript("journalctl --since '" + since + "' | grep -c 'authentication failure;' || true")
	if failures != "1" {
		r.t.Errorf("the host counts %s failures:\n%s", failures, r.runScript("journalctl --since '"+since+"' | tail -20"))
	}
}

func requiretty(r *sshHost) {
	r.put("/etc/sudoers.d/part", "0440", "Defaults requiretty")
	for user, password := range map[string]string{"ops": "", "pw": "lab-password"} {
		r.runScript("rm -rf /var/lib/deployer/agent")
		for range 2 {
			if uid, _ := r.requireRoot(r.target(user), remote.Sudo, password); uid != "0" {
				r.t.Errorf("%s: uid %s", user, uid)
			}
		}
	}
	wrongPassword(r, remote.Sudo, "sudo refused the password")
	r.sshd("PermitTTY no")
	r.requireRefusal(r.target("ops"), remote.Sudo, "", transport.Config, "PermitTTY")
}

// longLecture shows a lecture that is longer than what is kept of the output, before the prompt.
func longLecture(r *sshHost) {
	r.runScript("yes 'We trust you have received the usual lecture from the local System Administrator.' | head -c 75000 >/etc/lecture")
	for _, setting := range []string{"", ", requiretty"} {
		r.put("/etc/sudoers.d/part", "0440", "Defaults lecture=always, lecture_file=/etc/lecture"+setting)
		r.runScript("rm -rf /var/lib/deployer/agent")
		began := time.Now()
		if uid, _ := r.requireRoot(r.target("pw"), remote.Sudo, "lab-password"); uid != "0" {
			r.t.Errorf("lecture%s: uid %s", setting, uid)
		}
		if took := time.Since(began); took > 20*time.Second {
			r.t.Errorf("lecture%s: connecting took %s", setting, took)
		}
	}
}

func doas(r *sshHost) {
	r.put("/etc/doas.conf", "0400", "permit nopass ops as root\npermit pw as root")
	r.runScript("rm -rf /var/lib/deployer/agent")
	for user, password := range map[string]string{"ops": "", "pw": "lab-password"} {
		if uid, _ := r.requireRoot(r.target(user), remote.Doas, password); uid != "0" {
			r.t.Errorf("%s: uid %s", user, uid)
		}
	}
	r.requireRefusal(r.target("pw"), remote.Doas, "", transport.BecomePassword, "wants a password")
	r.requireRefusal(r.target("fishy"), remote.Doas, "", transport.Config, "doas.conf")
	wrongPassword(r, remote.Doas, "doas refused the password")
}

func su(r *sshHost) {
	r.runScript("echo root:root-password | chpasswd; rm -rf /var/lib/deployer/agent")
	r.t.Cleanup(func() { r.runScript("passwd -l root") })
	for range 2 {
		if uid, _ := r.requireRoot(r.target("ops"), remote.Su, "root-password"); uid != "0" {
			r.t.Errorf("uid %s", uid)
		}
	}
	wrongPassword(r, remote.Su, "su refused the password")
	r.requireRefusal(r.target("ops"), remote.Su, "", transport.BecomePassword, "): Password:")
}

func shells(r *sshHost) {
	for _, user := range []string{"fishy", "seashell"} {
		for range 2 {
			if _, dir := r.requireRoot(r.target(user), remote.NoBecome, ""); !strings.HasPrefix(dir, "/var/tmp/deployer-") {
				r.t.Errorf("%s: the agent is in %s", user, dir)
			}
		}
	}
	r.requireRefusal(r.target("closed"), remote.NoBecome, "", transport.Config, "This account is currently not available", "login shell")
}

// directories makes the default directories of the agent unusable, one after the
// other.
func directories(r *sshHost) {
	where := func(want string) {
		r.t.Helper()
		if _, dir := r.requireRoot(r.target("ops"), remote.NoBecome, ""); !strings.HasPrefix(dir, want) {
			r.t.Errorf("the agent is in %s, want %s", dir, want)
		}
	}
	mount := func(path, options string) {
		r.runScript("mount -t tmpfs -o " + options + " tmpfs " + path)
		r.t.Cleanup(func() { r.runScript("umount -l " + path) })
	}
	mount("/var/tmp", "mode=1777,size=2m")
	where("/home/ops/.deployer")
	mount("/home/ops/.deployer", "noexec,uid=$(id -u ops),mode=700")
	mount("/dev/shm", "mode=1777") // that of a container runs no programs
	where("/dev/shm/deployer-")
	mount("/dev/shm", "mode=1777,ro")
	r.requireRefusal(r.target("ops"), remote.NoBecome, "", transport.Config, "/var/tmp/deployer-", "KiB free", "mounted noexec", "cannot be made", "free some space")
}

func noForwarding(r *sshHost) {
	r.sshd("AllowTcpForwarding no")
	_, err := r.dial(r.target("root")).Dial(r.t.Context(), "tcp", "127.0.0.1:22")
	if transport.KindOf(err) != transport.Config || !strings.Contains(err.Error(), "AllowTcpForwarding") {
		r.t.Errorf("got %v", err)
	}
	behind := r.target("root")
	behind.Bastions = []ssh.Target{r.target("root")}
	if _, err := r.dialer().Dial(r.t.Context(), behind); transport.KindOf(err) != transport.Config || !strings.Contains(err.Error(), "sshd_config of the bastion") {
		r.t.Errorf("got %v", err)
	}
}
