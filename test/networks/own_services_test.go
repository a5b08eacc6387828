//go:build lab

package networks

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// forwarder is a program of the user that forwards the traffic of Services: upstream's kube-proxy
// as a DaemonSet, which finds the API through the proxy of its node.
const forwarder = `apiVersion: v1
kind: ServiceAccount
metadata: {name: forwarder, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: forwarder}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:node-proxier"}
subjects: [{kind: ServiceAccount, name: forwarder, namespace: kube-system}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: forwarder, namespace: kube-system}
spec:
  selector: {matchLabels: {app: forwarder}}
  template:
    metadata: {labels: {app: forwarder}}
    spec:
      hostNetwork: true
      serviceAccountName: forwarder
      priorityClassName: system-node-critical
      tolerations: [{operator: Exists}]
      containers:
        - name: kube-proxy
          image: IMAGE
          imagePullPolicy: Never
          # The kernel of a lab host belongs to others, too, so these settings stay.
          command: [kube-proxy, --proxy-mode=nftables, --hostname-override=$(NODE), --conntrack-max-per-core=0, --conntrack-tcp-timeout-established=0s, --conntrack-tcp-timeout-close-wait=0s]
          securityContext: {privileged: true}
          env:
            - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
            - {name: KUBERNETES_SERVICE_HOST, value: 127.0.0.1}
            - {name: KUBERNETES_SERVICE_PORT, value: "6443"}
`

// TestWithoutKubeProxy installs a cluster without kube-proxy and without a pod network, which then
// works with those of the user.
func TestWithoutKubeProxy(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 1})
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "network")["plugin"] = "none"
		harness.Section(inv, "cluster", "kube_proxy")["mode"] = "none"
		delete(harness.Section(inv, "cluster", "overrides"), "kube_proxy") // the lab's own
	})
	s.Must("install")
	nodes := []string{"m1", "n1"}
	for _, node := range nodes {
		if found := s.Shell(node, "ls /etc/kubernetes /etc/kubernetes/manifests /etc/kubernetes/pki; ctr -n k8s.io images ls -q; pidof kube-proxy || true"); strings.Contains(found, "kube-proxy") {
			t.Errorf("%s has something of kube-proxy:\n%s", node, found)
		}
	}

	image := loadForwarder(s, nodes)
	lay(s, nodes, nodes)
	s.Shell("m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'\n"+strings.ReplaceAll(forwarder, "IMAGE", image)+"EOF")
	s.Eventually(3*time.Minute, "the cluster works with its forwarder", func() error {
		if o := s.Deployer("verify"); o.Code != 0 {
			return errors.New(o.All())
		}
		return nil
	})
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)

	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "kube_proxy")["mode"] = "nftables" })
	o := s.Deployer("install")
	s.RequireExit(o, refused)
	s.RequireTexts(o.All(), "kube_proxy.mode is nftables, and the nodes of the cluster have no kube-proxy")
}

// loadForwarder puts the image of kube-proxy on the hosts, which have no registry, and returns its
// name.
func loadForwarder(s *harness.Site, hosts []string) string {
	s.T.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		s.T.Fatal(err)
	}
	archives, err := filepath.Glob(filepath.Join(cache, "deployer/artifacts-src/registry.k8s.io/kube-proxy/*.tar"))
	if err != nil || len(archives) == 0 {
		s.T.Fatalf("no archive of kube-proxy: %v", err)
	}
	for _, host := range hosts {
		s.CopyTo(host, archives[len(archives)-1], "/root/kube-proxy.tar", "0600")
		s.Shell(host, "ctr -n k8s.io images import /root/kube-proxy.tar && rm /root/kube-proxy.tar")
	}
	return s.Shell(hosts[0], "ctr -n k8s.io images ls -q | grep '^registry.k8s.io/kube-proxy:'")
}
