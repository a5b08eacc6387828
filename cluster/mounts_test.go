package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// secretFiles are the private keys and other secrets below /etc/kubernetes on a
// host: those of its certificates and those of the cluster.
func secretFiles(n cluster.Node) []string {
	out := []string{
		"/etc/kubernetes/pki/ca.key", "/etc/kubernetes/pki/etcd/ca.key", "/etc/kubernetes/pki/front-proxy-ca.key",
		"/etc/kubernetes/pki/sa.key", "/etc/kubernetes/encryption.yaml",
	}
	for _, c := range n.Certificates {
		out = append(out, c.KeyPath)
	}
	return out
}

// visible returns the files that a container with these mounts can read.
func visible(mounts []cluster.Mount, files []string) []string {
	out := []string{}
	for _, file := range files {
		if slices.ContainsFunc(mounts, func(m cluster.Mount) bool {
			return m.Path == file || m.Type == "Directory" && strings.HasPrefix(file, m.Path+"/")
		}) {
			out = append(out, file)
		}
	}
	slices.Sort(out)
	return out
}

// TestMountsShowOnlyOwnSecrets: each static pod sees the secrets that it uses and no
// others.
func TestMountsShowOnlyOwnSecrets(t *testing.T) {
	c := mustResolve(t, cluster.Spec{}, append(masters(3), minions(1)...))
	const pki = "/etc/kubernetes/pki/"
	for _, host := range []string{"m1", "n1"} {
		n := c.Nodes[host]
		want := map[string][]string{
			"apiserver": {
				"/etc/kubernetes/encryption.yaml", pki + "apiserver/apiserver-etcd-client.key", pki + "apiserver/apiserver-kubelet-client.key",
				pki + "apiserver/apiserver.key", pki + "apiserver/front-proxy-client.key", pki + "sa.key",
			},
			"controller manager": {pki + "ca.key", pki + "controller-manager/controller-manager.key", pki + "sa.key"},
			"scheduler":          {pki + "scheduler/scheduler.key"},
			"kube-proxy":         {pki + "kube-proxy/kube-proxy.key"},
		}
		if host == "n1" {
			want["apiserver"], want["controller manager"], want["scheduler"] = []string{}, []string{}, []string{}
		}
		got := map[string][]string{
			"apiserver":          visible(n.Mounts.APIServer, secretFiles(n)),
			"controller manager": visible(n.Mounts.ControllerManager, secretFiles(n)),
			"scheduler":          visible(n.Mounts.Scheduler, secretFiles(n)),
			"kube-proxy":         visible(n.Mounts.KubeProxy, secretFiles(n)),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("secrets that static pods of %s see (-want +got):\n%s", host, diff)
		}
	}
}

// TestMountsHoldEveryFileOfFlags: a component has every file below /etc/kubernetes
// that its flags name, also files that only an inventory names.
func TestMountsHoldEveryFileOfFlags(t *testing.T) {
	spec := cluster.Spec{Overrides: map[string]any{
		"apiserver": map[string]any{"extra_args": map[string]any{
			"oidc-ca-file":     "/etc/kubernetes/pki/oidc-ca.crt",
			"tls-sni-cert-key": []any{"/etc/kubernetes/sni/a.crt,/etc/kubernetes/sni/a.key:*.example.com"},
		}},
		"scheduler": map[string]any{"extra_args": map[string]any{"config": "/etc/kubernetes/scheduler/config.yaml"}},
	}}
	n := mustResolve(t, spec, masters(1)).Nodes["m1"]
	for component, c := range map[string]struct {
		mounts []cluster.Mount
		files  []string
	}{
		"apiserver": {n.Mounts.APIServer, []string{
			"/etc/kubernetes/pki/oidc-ca.crt", "/etc/kubernetes/sni/a.crt", "/etc/kubernetes/sni/a.key", "/etc/kubernetes/pki/ca.crt",
			"/etc/kubernetes/apiserver/authentication.yaml", "/etc/kubernetes/pki/apiserver/apiserver.crt", "/etc/kubernetes/pki/sa.pub",
		}},
		"controller manager": {n.Mounts.ControllerManager, []string{"/etc/kubernetes/controller-manager.conf", "/etc/kubernetes/pki/front-proxy-ca.crt"}},
		"scheduler":          {n.Mounts.Scheduler, []string{"/etc/kubernetes/scheduler/config.yaml", "/etc/kubernetes/scheduler.conf", "/etc/kubernetes/pki/ca.crt"}},
		"kube-proxy":         {n.Mounts.KubeProxy, []string{"/etc/kubernetes/kube-proxy.yaml", "/etc/kubernetes/kube-proxy.conf", "/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/pki/kube-proxy/kube-proxy.crt"}},
	} {
		slices.Sort(c.files)
		if diff := cmp.Diff(c.files, visible(c.mounts, c.files)); diff != "" {
			t.Errorf("%s lacks files (-want +got):\n%s", component, diff)
		}
		names := map[string]bool{}
		for _, m := range c.mounts {
			if names[m.Name] || len(m.Name) > 63 || m.Name == "" {
				t.Errorf("%s: the name %q of the mount of %s is empty, too long or taken", component, m.Name, m.Path)
			}
			names[m.Name] = true
		}
	}
}

// TestFormerFilesAreUsedByNobody: certificates of earlier versions are removed at
// both their paths, and no file that is in use is removed.
func TestFormerFilesAreUsedByNobody(t *testing.T) {
	n := mustResolve(t, cluster.Spec{}, masters(1)).Nodes["m1"]
	if !slices.Contains(n.FormerFiles, "/etc/kubernetes/pki/apiserver.key") || !slices.Contains(n.FormerFiles, "/etc/kubernetes/pki/kube-proxy.crt") {
		t.Errorf("former files are %v", n.FormerFiles)
	}
	for _, c := range n.Certificates {
		for _, file := range []string{c.CertPath, c.KeyPath, c.CAPath} {
			if slices.Contains(n.FormerFiles, file) {
				t.Errorf("%s is in use and would be removed", file)
			}
		}
	}
}
