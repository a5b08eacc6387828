package profile

import (
	"fmt"
	"strings"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Message is what templates of notifications see.
type Message struct {
	Node           *corev1.Node
	State          State
	Profile        Names
	InMaintenance  bool // any profile of the node is in-maintenance
	LastTransition time.Time
}

// Names prints as the current profile: {{ .Profile }} and {{ .Profile.Current }} are the same text.
type Names struct {
	// Current is the profile whose state has the notification.
	Current string
	// Last is the profile that caused the node's last change of state.
	Last string
}

// String returns Current.
func (p Names) String() string { return p.Current }

// Template is a text with Go's template language over a [Message].
type Template struct{ parsed *template.Template }

// maxMessage is the maximum length of a rendered text in bytes: a message, not a dump. Slack cuts texts at 40,000
// characters (https://docs.slack.dev/reference/methods/chat.postMessage).
const maxMessage = 40_000

// UnmarshalText implements encoding.TextUnmarshaler. It finds errors of syntax, and names of fields that a Message
// does not have.
func (t *Template) UnmarshalText(text []byte) error {
	parsed, err := template.New("").Parse(string(text))
	if err != nil {
		return fmt.Errorf("the template is wrong: %s", strings.TrimPrefix(err.Error(), "template: :"))
	}
	t.parsed = parsed
	if _, err := t.Render(exampleMessage()); err != nil {
		for _, sure := range []string{"can't evaluate field", "incompatible types", "error calling eq: "} {
			if strings.Contains(err.Error(), sure) {
				return err
			}
		}
	}
	return nil
}

// Render returns the text for a message.
func (t *Template) Render(m Message) (string, error) {
	if t == nil || t.parsed == nil {
		return "", nil
	}
	out := &limited{}
	if err := t.parsed.Execute(out, m); err != nil {
		return "", fmt.Errorf("rendering the template: %s", strings.TrimPrefix(err.Error(), "template: :"))
	}
	return out.String(), nil
}

// limited is a text with a maximum length.
type limited struct{ strings.Builder }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxMessage {
		return 0, fmt.Errorf("the text has more than %d bytes", maxMessage)
	}
	return l.Builder.Write(p)
}

// exampleMessage is a message with a value in each list that templates index.
func exampleMessage() Message {
	return Message{
		Node: &corev1.Node{
			ObjectMeta: v1.ObjectMeta{Name: "node", Labels: map[string]string{}, Annotations: map[string]string{}},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "key"}}, PodCIDRs: []string{"10.0.0.0/24"}},
			Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
				Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}},
			},
		},
		State: Required, Profile: Names{Current: "profile", Last: "profile"},
	}
}
