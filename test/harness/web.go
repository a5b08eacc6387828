//go:build lab

package harness

import (
	"fmt"
	"strings"
	"time"
)

// DeployWeb runs an application with a disruption budget, from an image that deployer
// has imported on the hosts.
func (s *Site) DeployWeb() {
	s.T.Helper()
	s.Shell("m1", fmt.Sprintf(`cat > /tmp/web.yaml <<'EOF'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}
      containers: [{name: web, image: %s, imagePullPolicy: Never, args: [probe, serve, --listen, ":8080"]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
EOF`, s.ProbeImage("n1")))
	s.Kubectl("m1", "apply -f /tmp/web.yaml")
	s.Kubectl("m1", "rollout status deployment/web --timeout=60s")
}

// MoveWeb moves the application to a node.
func (s *Site) MoveWeb(node string) {
	s.T.Helper()
	s.Kubectl("m1", "rollout restart deployment/web")
	s.Kubectl("m1", "rollout status deployment/web --timeout=60s")
	s.Eventually(30*time.Second, "the application is on "+node, func() error {
		if s.WebPodsOn(node) == "" {
			return fmt.Errorf("it is elsewhere")
		}
		return nil
	})
}

// WebPodsOn returns the names of the application's pods on a node.
func (s *Site) WebPodsOn(node string) string {
	s.T.Helper()
	return s.Kubectl("m1", "get pods -l app=web --field-selector spec.nodeName="+node+" -o name")
}

// SetDisruptionBudget sets minAvailable of the application's PodDisruptionBudget.
func (s *Site) SetDisruptionBudget(atLeast int) {
	s.T.Helper()
	s.Kubectl("m1", fmt.Sprintf(`patch pdb web --type merge -p '{"spec":{"minAvailable":%d}}'`, atLeast))
	s.Eventually(20*time.Second, "the budget is counted anew", func() error {
		if got := s.Kubectl("m1", `get pdb web -o 'jsonpath={.status.desiredHealthy}/{.status.currentHealthy}'`); got != fmt.Sprintf("%d/2", atLeast) {
			return fmt.Errorf("desired/current: %s", got)
		}
		return nil
	})
}

// RemoveWeb removes the application and its budget.
func (s *Site) RemoveWeb() {
	s.T.Helper()
	s.Kubectl("m1", "delete deployment/web pdb/web --wait=false")
}

// CordonState returns spec.unschedulable of a node: "true", or "".
func (s *Site) CordonState(node string) string {
	s.T.Helper()
	return s.Kubectl("m1", "get node "+node+" -o 'jsonpath={.spec.unschedulable}'")
}

// RequireSchedulable checks that a node is not cordoned and bears no mark of deployer.
func (s *Site) RequireSchedulable(node, when string) {
	s.T.Helper()
	if got := s.CordonState(node); got != "" {
		s.T.Errorf("%s node %s is cordoned", when, node)
	}
	if got := s.Kubectl("m1", "get node "+node+" -o 'jsonpath={.metadata.annotations}'"); strings.Contains(got, "deployer/cordoned") {
		s.T.Errorf("%s node %s bears a mark: %s", when, node, got)
	}
}
