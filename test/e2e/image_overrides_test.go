//go:build lab

package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// The images that the test replaces are in no registry; their replacements are on every node.
const (
	overriddenApp   = "registry.example/team/app:1"
	overriddenSetup = "team/setup:1"
	pauseImage      = "registry.k8s.io/pause:3.10.1"
	corednsImage    = "registry.k8s.io/coredns/coredns:v1.14.7"

	overriddenDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: app, image: "registry.example/team/app:1"}]
`
	// overriddenPod has two variables with one name, which a merge of lists by their keys would lose.
	overriddenPod = `
apiVersion: v1
kind: Pod
metadata: {name: parts}
spec:
  terminationGracePeriodSeconds: 0
  initContainers:
  - {name: setup, image: "team/setup:1", command: [/coredns, -version], resources: {limits: {memory: 64Mi}}}
  containers:
  - {name: app, image: "registry.example/team/app:1", env: [{name: A, value: "1"}, {name: A, value: "2"}], ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]}
  - {name: other, image: "registry.k8s.io/pause:3.10.1", securityContext: {readOnlyRootFilesystem: true}}
  - {name: latest, image: "registry.example/team/app"}
`
	// sidecarPolicy adds a container to pods, after the policy of deployer has been evaluated.
	sidecarPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: sidecar}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  matchConditions: [{name: sidecar, expression: "'sidecar' in object.metadata.?labels.orValue({})"}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{spec: Object.spec{containers: [Object.spec.containers{name: "sidecar", image: "registry.example/team/app:1"}]}}'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: sidecar}
spec: {policyName: sidecar}
`
	sidecarPod = `
apiVersion: v1
kind: Pod
metadata: {name: with-sidecar, labels: {sidecar: "true"}}
spec: {containers: [{name: app, image: "registry.k8s.io/pause:3.10.1"}]}
`
)

// TestImageOverrides upgrades a cluster to the first version with policies that change objects, replaces images of
// its pods, and ends it.
func TestImageOverrides(t *testing.T) {
	s := &overriddenSite{harness.New(t, "overrides", plan.Spec{Masters: 1})}
	s.set("v1.35.4", overriddenApp, pauseImage)
	refused := s.Deployer("install")
	s.RequireTexts(refused.All(), "the API server of m1 has version v1.35.4", "since v1.36")
	if refused.Code == 0 {
		t.Fatal("the older version installs with image overrides")
	}
	s.set("v1.35.4")
	s.Must("install")
	s.apply(overriddenDeployment)

	s.set("v1.36.3", overriddenApp, pauseImage, overriddenSetup, corednsImage)
	s.RequireTexts(s.Must("upgrade", "plan").All(), "MutatingAdmissionPolicy deployer-image-overrides", "the API servers serve kind MutatingAdmissionPolicy since Kubernetes v1.36")
	s.Must("upgrade")
	s.RequireTexts(s.Kubectl("m1", "get mutatingadmissionpolicies,mutatingadmissionpolicybindings -o name"),
		"mutatingadmissionpolicy.admissionregistration.k8s.io/deployer-image-overrides", "mutatingadmissionpolicybinding.admissionregistration.k8s.io/deployer-image-overrides")
	s.RequireTexts(s.Must("install").All(), "0 changed")

	s.existingPod()
	s.newPod()
	s.debugContainers()
	s.otherFields()
	s.sidecar()
	s.staticPod()
	s.end()
}

// overriddenSite is a cluster with image overrides.
type overriddenSite struct{ *harness.Site }

// set writes the version of Kubernetes and the overrides, as pairs, into the inventory.
func (s *overriddenSite) set(version string, images ...string) {
	s.T.Helper()
	s.Edit(func(inv map[string]any) {
		cluster := harness.Section(inv, "cluster")
		cluster["kubernetes"] = version
		delete(cluster, "image_overrides")
		var overrides []any
		for i := 0; i < len(images); i += 2 {
			overrides = append(overrides, map[string]any{"image": images[i], "replacement": images[i+1]})
		}
		if overrides != nil {
			cluster["image_overrides"] = overrides
		}
	})
}

// apply creates or changes objects.
func (s *overriddenSite) apply(manifests string) {
	s.T.Helper()
	s.Shell("m1", "cat > /tmp/objects.yaml <<'EOF'\n"+manifests+"EOF")
	s.Kubectl("m1", "apply -f /tmp/objects.yaml")
}

// admitted returns a pod as the API server would create it; the server stores nothing.
func (s *overriddenSite) admitted(manifest string) corev1.Pod {
	s.T.Helper()
	s.Shell("m1", "cat > /tmp/admitted.yaml <<'EOF'\n"+manifest+"EOF")
	return s.pod("create --dry-run=server -f /tmp/admitted.yaml")
}

// pod returns the pod that a command of kubectl prints.
func (s *overriddenSite) pod(command string) (pod corev1.Pod) {
	s.T.Helper()
	if err := json.Unmarshal([]byte(s.Kubectl("m1", command+" -o json")), &pod); err != nil {
		s.T.Fatalf("%s: %v", command, err)
	}
	return pod
}

// existingPod checks that a pod that is older than the policy keeps its image, whatever else is changed, and that the
// next pod of its Deployment gets the replacement.
func (s *overriddenSite) existingPod() {
	s.T.Helper()
	name := s.Kubectl("m1", "get pods -l app=app -o name")
	s.Kubectl("m1", "label "+name+" seen=true")
	if got := s.pod("get " + name).Spec.Containers[0].Image; got != overriddenApp {
		s.T.Errorf("a label has changed the image of a pod to %s", got)
	}
	s.Kubectl("m1", "delete --now "+name)
	s.Kubectl("m1", "rollout status deployment app --timeout=60s")
	if got := s.Kubectl("m1", "get pods -l app=app -o 'jsonpath={.items[*].spec.containers[*].image}'"); got != pauseImage {
		s.T.Errorf("the new pod of the Deployment has %s", got)
	}
	if got := s.Kubectl("m1", "get deployment app -o 'jsonpath={.spec.template.spec.containers[*].image}'"); got != overriddenApp {
		s.T.Errorf("the Deployment has %s", got)
	}
}

// newPod checks the images of init containers and containers, and an image that is changed later.
func (s *overriddenSite) newPod() {
	s.T.Helper()
	s.apply(strings.ReplaceAll(overriddenPod, "  - {name: latest, image: \"registry.example/team/app\"}\n", ""))
	s.Kubectl("m1", "wait --for=condition=Ready --timeout=60s pod/parts")
	began := s.pod("get pod parts").Spec
	if began.InitContainers[0].Image != corednsImage || began.Containers[0].Image != pauseImage || began.Containers[1].Image != pauseImage {
		s.T.Errorf("the pod has the images %s, %s, %s", began.InitContainers[0].Image, began.Containers[0].Image, began.Containers[1].Image)
	}
	s.Kubectl("m1", "set image pod/parts other="+overriddenSetup)
	if got := s.pod("get pod parts").Spec.Containers[1].Image; got != corednsImage {
		s.T.Errorf("after set image the container has %s", got)
	}
	s.Kubectl("m1", "set image pod/parts other="+pauseImage)
}

// debugContainers checks ephemeral containers; the second request contains the first one, too.
func (s *overriddenSite) debugContainers() {
	s.T.Helper()
	for _, name := range []string{"debug-1", "debug-2"} {
		s.Kubectl("m1", "debug pod/parts --profile=baseline --container "+name+" --image "+overriddenApp)
		s.Eventually(time.Minute, name+" runs", func() error {
			pod := s.pod("get pod parts")
			for _, c := range pod.Status.EphemeralContainerStatuses {
				if c.Name == name && c.State.Running != nil && c.Image == pauseImage {
					return nil
				}
			}
			return fmt.Errorf("%+v", pod.Status.EphemeralContainerStatuses)
		})
	}
}

// otherFields checks that a pod with replaced images has the same fields as one that names the replacements, and that
// images whose text is not exactly that of an override stay.
func (s *overriddenSite) otherFields() {
	s.T.Helper()
	s.Kubectl("m1", "delete --now pod parts")
	replaced := s.admitted(overriddenPod)
	named := s.admitted(strings.NewReplacer(`"registry.example/team/app:1"`, `"`+pauseImage+`"`, `"team/setup:1"`, `"`+corednsImage+`"`).Replace(overriddenPod))
	token := regexp.MustCompile(`kube-api-access-[a-z0-9]+`)
	text := func(pod corev1.Pod) string {
		out, err := json.MarshalIndent(pod.Spec, "", " ")
		if err != nil {
			s.T.Fatal(err)
		}
		return token.ReplaceAllString(string(out), "kube-api-access")
	}
	if text(replaced) != text(named) {
		s.T.Errorf("with replaced images:\n%s\nwith named ones:\n%s", text(replaced), text(named))
	}
	if len(replaced.Spec.Containers[0].Env) != 2 || len(replaced.Spec.Containers[0].Ports) != 2 {
		s.T.Errorf("%+v", replaced.Spec.Containers[0])
	}
	if got := replaced.Spec.Containers[2].Image; got != "registry.example/team/app" {
		s.T.Errorf("an image without a tag was replaced by %s", got)
	}
}

// sidecar checks that a container that another policy adds gets the replacement, too.
func (s *overriddenSite) sidecar() {
	s.T.Helper()
	s.apply(sidecarPolicy)
	s.Eventually(30*time.Second, "the sidecar has the replacement", func() error {
		containers := s.admitted(sidecarPod).Spec.Containers
		for _, c := range containers {
			if c.Name == "sidecar" && c.Image == pauseImage {
				return nil
			}
		}
		return fmt.Errorf("%+v", containers)
	})
	s.Kubectl("m1", "delete mutatingadmissionpolicybinding,mutatingadmissionpolicy sidecar")
}

// staticPod checks that the pod that shows a static pod keeps the image that the kubelet runs.
func (s *overriddenSite) staticPod() {
	s.T.Helper()
	const scheduler = "-n kube-system get pod kube-scheduler-m1"
	before := s.pod(scheduler)
	image := before.Spec.Containers[0].Image
	s.set("v1.36.3", overriddenApp, pauseImage, overriddenSetup, corednsImage, image, pauseImage)
	s.Must("install")
	s.Eventually(30*time.Second, "the policy replaces the image in other pods", func() error {
		if got := s.admitted(strings.ReplaceAll(sidecarPod, pauseImage, image)).Spec.Containers[0].Image; got != pauseImage {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	s.Kubectl("m1", "-n kube-system delete pod kube-scheduler-m1 --now")
	s.Eventually(time.Minute, "the kubelet shows the pod again", func() error {
		out, err := s.SSH(s.T.Context(), "m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf "+scheduler+" -o 'jsonpath={.metadata.uid} {.spec.containers[0].image}'")
		uid, got, _ := strings.Cut(strings.TrimSpace(out), " ")
		switch {
		case err != nil:
			return err
		case uid == string(before.UID):
			return fmt.Errorf("the former pod is still there")
		case got != image:
			s.T.Fatalf("the pod shows %s; the kubelet runs %s", got, image)
		}
		return nil
	})
}

// end takes the setting out: the policy is gone, and no image is replaced.
func (s *overriddenSite) end() {
	s.T.Helper()
	s.set("v1.36.3")
	s.RequireTexts(s.Run("plan", "install", "-i", s.Inventory).All(), "MutatingAdmissionPolicyBinding deployer-image-overrides", "MutatingAdmissionPolicy deployer-image-overrides")
	s.Must("install")
	if got := s.Kubectl("m1", "get mutatingadmissionpolicies,mutatingadmissionpolicybindings -o name"); got != "" {
		s.T.Errorf("left: %s", got)
	}
	s.Eventually(30*time.Second, "images are not replaced any more", func() error {
		if got := s.admitted(overriddenPod).Spec.Containers[0].Image; got != overriddenApp {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	s.RequireTexts(s.Must("install").All(), "0 changed")
}
