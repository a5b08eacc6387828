//go:build lab

package images

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

var hosts = []string{"m1", "n1"}

// debugged builds the image debug and uses its tools on hosts: commands on several hosts, a
// shell on a terminal, and a session whose controller is killed. Nothing of them stays.
func debugged(s site) {
	s.images("build", "debug")
	s.images("test", "debug")
	for _, tool := range []struct{ hosts, command, want string }{
		{"all", "cat /host/etc/hostname", "== m1 (1)\nm1\n== n1 (1)\nn1\n"},
		{"all", "conntrack -C >/dev/null && nft list tables | grep -c . >/dev/null && echo counted", "== m1, n1 (2)\ncounted\n"},
		{"n1", "timeout 60 tcpdump -c 1 -ni any tcp 2>/dev/null | grep -c IP", "== n1 (1)\n1\n"},
		{"n1", "timeout -s INT 3 strace -f -e trace=futex,epoll_pwait -p $(pidof kubelet) 2>&1 | grep -q futex && echo traced", "== n1 (1)\ntraced\n"},
		{"m1", "ctr containers ls | grep -q kube-apiserver && echo listed", "== m1 (1)\nlisted\n"},
		{"m1", "kubectl get nodes -o name", "node/m1\nnode/n1\n"},
		{"m1", "cd /etc/kubernetes/pki/etcd && etcdctl --endpoints https://" + s.Address("m1") + ":2379 --cacert ca.crt --cert healthcheck-client.crt --key healthcheck-client.key endpoint health 2>&1", "is healthy"},
	} {
		s.RequireTexts(s.debug(tool.hosts, tool.command), tool.want)
	}
	if o := s.Deployer("debug", "all", "--dir", s.artifacts, "--", "grep -q m1 /host/etc/hostname"); o.Code != 3 {
		s.T.Errorf("a command that fails on one of two hosts: exit %d, want 3\n%s", o.Code, o.All())
	}
	s.shell()
	s.nothingLeft()
	s.killed()
	s.Eventually(time.Minute, "the hosts remove the session of a killed controller", func() error {
		if left := s.left(); left != "" {
			return fmt.Errorf("there still are %s", left)
		}
		return nil
	})
}

// debug runs a command in a session and returns its output.
func (s site) debug(hosts, command string) string {
	s.T.Helper()
	return s.Must("debug", hosts, "--dir", s.artifacts, "--", command).Stdout
}

// shell opens a shell on a terminal, types lines, and leaves it.
func (s site) shell() {
	s.T.Helper()
	words := s.DeployerCommand(s.T.Context(), "debug", "m1", "--dir", s.artifacts)
	// script gives its command a terminal.
	cmd := s.Command(s.T.Context(), "script", "-qec", strings.Join(words.Args[len(s.Enter()):], " "), "/dev/null")
	cmd.Env = words.Env
	cmd.Stdin = strings.NewReader("stty -a | grep -o 'rows [0-9]*'; echo host=$(cat /host/etc/hostname)\nexit\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		s.T.Errorf("a shell: %v\n%s", err, out.String())
	}
	s.RequireTexts(out.String(), "host=m1")
}

// killed kills a controller once its sessions run on both hosts.
func (s site) killed() {
	s.T.Helper()
	cmd := s.DeployerCommand(s.T.Context(), "debug", "all", "--dir", s.artifacts, "--", "sleep 600")
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	s.Eventually(time.Minute, "sessions run on both hosts", func() error {
		for _, h := range hosts {
			if s.Shell(h, "ctr -n deployer-debug tasks ls -q") == "" {
				return fmt.Errorf("%s has none", h)
			}
		}
		return nil
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
}

// nothingLeft checks that no host has a container or an image of a session.
func (s site) nothingLeft() {
	s.T.Helper()
	if left := s.left(); left != "" {
		s.T.Errorf("after the sessions there are %s", left)
	}
}

// left names the containers, images and archives of sessions on all hosts.
func (s site) left() string {
	s.T.Helper()
	var out []string
	for _, h := range hosts {
		for _, line := range strings.Fields(s.Shell(h, "ctr -n deployer-debug containers ls -q; ctr -n deployer-debug images ls -q; ls /var/lib/deployer/debug 2>/dev/null || true")) {
			out = append(out, h+": "+line)
		}
	}
	return strings.Join(out, ", ")
}
