//go:build lab

package mistakes

import (
	"fmt"
	"strings"
	"time"
)

// foreignNetworkFile: another program puts its configuration of pod networks before that of
// deployer, so new pods of the node get addresses that nobody routes.
func foreignNetworkFile(s *site) {
	const file = "/etc/cni/net.d/05-other.conflist"
	s.Shell("n1", `cat >`+file+` <<'EOF'
{"cniVersion": "1.0.0", "name": "other", "plugins": [{"type": "bridge", "bridge": "other0", "isGateway": true, "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.200.0.0/24"}]]}}]}
EOF`)
	defer s.Shell("n1", "rm -f "+file)
	status := s.Deployer("status")
	s.RequireExit(status, problems)
	s.RequireTexts(status.All(), "05-other.conflist")
	check := s.Run("apply", "-i", s.Inventory, "--check")
	s.RequireTexts(check.All(), "05-other.conflist")
	s.Shell("n1", "rm "+file)
	s.unchanged()
}

// deadAPIService: an extension of the API has no server behind it. Discovery and the removal of
// namespaces fail in the whole cluster.
func deadAPIService(s *site) {
	const name = "v1beta1.metrics.example"
	s.apply(`apiVersion: v1
kind: Service
metadata: {name: dead, namespace: default}
spec: {ports: [{port: 443}], selector: {app: none}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: ` + name + `}
spec: {group: metrics.example, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {name: dead, namespace: default}}
`)
	defer s.Kubectl("m1", "delete apiservice/"+name+" service/dead")
	s.Eventually(time.Minute, "the APIService is not available", func() error {
		if got := s.Kubectl("m1", "get apiservice "+name+` -o 'jsonpath={.status.conditions[?(@.type=="Available")].status}'`); got != "False" {
			return fmt.Errorf("available: %q", got)
		}
		return nil
	})
	verify := s.Deployer("verify")
	s.RequireExit(verify, problems)
	s.RequireTexts(verify.All(), name, "namespaces that stay Terminating, without pods: deployer-verify-", "Discovery failed", "kubectl get apiservice")
	diagnose := s.Deployer("diagnose", "--file", s.T.TempDir()+"/archive.tar.gz")
	s.RequireTexts(diagnose.All(), name)
}

// refusingWebhook: a webhook without a server refuses every change of the API.
func refusingWebhook(s *site) {
	const name = "refuse.all.example"
	s.apply(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ` + name + `}
webhooks:
  - name: ` + name + `
    failurePolicy: Fail
    sideEffects: None
    admissionReviewVersions: [v1]
    clientConfig: {service: {name: none, namespace: default}, caBundle: ""}
    rules: [{apiGroups: ["rbac.authorization.k8s.io", "apps"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]
`)
	removed := false
	remove := func() {
		if !removed {
			removed = true
			s.Kubectl("m1", "delete validatingwebhookconfiguration "+name)
		}
	}
	defer remove()
	check := s.Run("apply", "-i", s.Inventory, "--check")
	s.RequireTexts(check.All(), name)
	if strings.Contains(check.All(), "the API does not answer") {
		s.T.Errorf("apply --check says that the API does not answer:\n%s", check.All())
	}
	verify := s.Deployer("verify")
	s.RequireExit(verify, problems)
	s.RequireTexts(verify.All(), name)
	remove()
	s.unchanged()
}

// conversionWebhook: the program that converts objects of a custom resource is gone, so the API
// server cannot list them.
func conversionWebhook(s *site) {
	const name = "pots.kitchen.example"
	version := func(name, storage string) string {
		return "{name: " + name + ", served: true, storage: " + storage + ", schema: {openAPIV3Schema: {type: object}}}"
	}
	s.apply(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + name + `}
spec:
  group: kitchen.example
  scope: Namespaced
  names: {plural: pots, kind: Pot}
  versions: [` + version("v1beta1", "false") + ", " + version("v1", "true") + `]
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: none, namespace: default}}}}
`)
	defer s.Kubectl("m1", "delete crd "+name)
	for _, verb := range []string{"status", "verify"} {
		o := s.Deployer(verb)
		s.RequireExit(o, problems)
		if verb == "verify" {
			s.RequireTexts(o.All(), "webhook of conversion "+name+": its Service default/none does not exist", "kubectl patch crd "+name)
		}
	}
}

// apply creates an object of the API.
func (s *site) apply(object string) {
	s.T.Helper()
	s.Shell("m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'\n"+object+"EOF")
}
