//go:build lab

package harness

import (
	"strings"
	"time"
)

// Shell runs a line on a host and ends the test when it fails.
func (s *Site) Shell(host, line string) string {
	s.T.Helper()
	out, err := s.SSH(s.T.Context(), host, line)
	if err != nil {
		s.T.Fatalf("%s: %s: %v\n%s", host, line, err, out)
	}
	return strings.TrimSpace(out)
}

// CopyTo copies a file of this machine to a host.
func (s *Site) CopyTo(host, from, to, mode string) {
	s.T.Helper()
	if err := s.Copy(s.T.Context(), host, from, to, mode); err != nil {
		s.T.Fatal(err)
	}
}

// Kubectl runs kubectl on a master.
func (s *Site) Kubectl(host, args string) string {
	s.T.Helper()
	return s.Shell(host, "kubectl --kubeconfig /etc/kubernetes/admin.conf "+args)
}

// Eventually calls f until it returns nil. After the time limit it ends the test.
func (s *Site) Eventually(limit time.Duration, what string, f func() error) {
	s.T.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.T.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// Processes lists the processes of a host with their start times, to show that nothing was
// restarted, without short-lived ones: sshd sessions, test pods of verify and their pause
// containers. A child of a program in Go, before it executes another program, has the name of its
// parent; it is left out, too.
func (s *Site) Processes(host string) string {
	s.T.Helper()
	return s.Shell(host, `for p in /proc/[0-9]*; do
  read -r comm <$p/comm && read -r stat <$p/stat || continue
  set -- $stat
  case $comm in
    etcd|containerd|kubelet|kube-apiserver|kube-controller|kube-controller-manager|kube-scheduler|kube-proxy|coredns)
      read -r parent </proc/$4/comm && [ "$parent" != "$comm" ] || continue ;;
    bird|nginx|haproxy) ;;
    *) continue ;;
  esac
  echo "$comm $1 ${22}"
done 2>/dev/null | sort`)
}

// Address returns the address of a host.
func (s *Site) Address(host string) string {
	s.T.Helper()
	h, err := s.Host(host)
	if err != nil {
		s.T.Fatal(err)
	}
	return h.Address.String()
}

// ProbeImage returns the image of deployer's probe, which is on every node of a cluster:
// the lab has no registry.
func (s *Site) ProbeImage(host string) string {
	s.T.Helper()
	return s.Shell(host, `ctr -n k8s.io images ls -q | grep '^deployer.local/probe:' | head -1`)
}

// PinnedImages returns the names of the images that the kubelet of a host must keep, sorted.
func (s *Site) PinnedImages(host string) string {
	s.T.Helper()
	return s.Shell(host, `ctr -n k8s.io images ls -q 'labels."io.cri-containerd.pinned"==pinned' | sort`)
}
