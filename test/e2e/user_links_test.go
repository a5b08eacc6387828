//go:build lab

package e2e

import (
	"os"
	"path/filepath"
	"strings"
)

// playbook writes a playbook and returns its path.
func (s *site) playbook(text string) string {
	s.T.Helper()
	path := filepath.Join(s.T.TempDir(), "site.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.T.Fatal(err)
	}
	return path
}

// linksOfUsers checks that a link of a user to a directory of root, and a file that a user
// exchanges for a link while root changes its mode, do not change files of root, and that
// links of root such as /var/run still work.
func linksOfUsers(s *site) {
	s.Shell("h1", `
		useradd -m rob && install -d -o rob /home/rob/race && install -m 640 /dev/null /etc/victim
		su rob -c 'ln -s /etc/systemd/system ~/conf; mkdir ~/mine; ln -s mine ~/own; cd ~/race; touch x; ln -s /etc/victim link'`)
	o := s.Deployer("run", "--limit", "h1", s.playbook(`
- hosts: all
  tasks:
    - name: root's link is followed
      file: {path: /var/run/by-link, content: "x"}
    - name: and a user's to what is that user's
      file: {path: /home/rob/own/x, content: "x"}
    - name: a user's to what is root's is not
      file: {path: /home/rob/conf/evil.service, content: "x"}
`))
	if o.Code == 0 {
		s.T.Errorf("root wrote where a user's link leads:\n%s", o.All())
	}
	s.RequireTexts(o.All(), "/home/rob/conf is a symbolic link to /etc/systemd/system")
	if got := s.Shell("h1", "cat /run/by-link /home/rob/mine/x; ls /etc/systemd/system/evil.service 2>&1 | grep -c 'No such'"); got != "xx1" {
		s.T.Errorf("of the three files there are %q", got)
	}
	// 316 is renameat2 on amd64, 2 its flag to exchange two names.
	s.Shell("h1", `systemd-run -q --unit racer --uid rob perl -e 'chdir "/home/rob/race"; my ($x, $l) = ("x", "link"); while (1) { syscall(316, -100, $x, -100, $l, 2) }'`)
	s.Deployer("run", "--limit", "h1", s.playbook(`
- hosts: all
  tasks:
    - name: open
      ignore_errors: true
      file: {path: /home/rob/race/x, mode: "0666", owner: rob}
      loop: 1..300
    - name: close
      ignore_errors: true
      file: {path: /home/rob/race/x, mode: "0600", owner: rob}
      loop: 1..300
`))
	if got := s.Shell("h1", "systemctl is-active racer; systemctl stop racer; stat -c '%a %U' /etc/victim"); !strings.HasSuffix(got, "active\n640 root") {
		s.T.Errorf("the racing user has made of root's file (640 root): %q", got)
	}
}

// interruptedCommand kills the agent during a command: the run reconnects, and does not
// run the command again.
func interruptedCommand(s *site) {
	o := s.Deployer("run", "--limit", "h1", s.playbook(`
- hosts: all
  tasks:
    - name: charge
      shell: {cmd: "echo x >>/run/charged; kill -9 $PPID", on_resume: fail}
`))
	if o.Code == 0 {
		s.T.Errorf("the interrupted command counts as done:\n%s", o.All())
	}
	s.RequireTexts(o.All(), "was interrupted in this step, and on_resume: fail")
	if got := s.Shell("h1", "cat /run/charged"); got != "x" {
		s.T.Errorf("it left %q, want one line", got)
	}
}

// backupOnFullDisk checks that a file whose backup would fill the disk is replaced without
// a backup, and that the run reports it.
func backupOnFullDisk(s *site) {
	s.Shell("h1", "mount -t tmpfs -o size=22m,mode=700 tmpfs /var/lib/deployer; dd if=/dev/zero of=/srv/large bs=1M count=20 2>/dev/null")
	defer s.Shell("h1", "umount -l /var/lib/deployer; rm /srv/large")
	o := s.Must("run", "--limit", "h1", "-v", s.playbook(`
- hosts: all
  tasks:
    - name: large
      file: {path: /srv/large, content: "small"}
`))
	s.RequireTexts(o.All(), "cannot be restored: a copy of it would fill the disk")
}
