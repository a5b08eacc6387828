package act

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/engine/sanitize"
	"deployer/keeper/decide"
	"deployer/keeper/observe"
)

// approve approves the request of a node for a certificate. What a request asks for never changes, so its UID is
// enough to know it again; the version in the object makes the API refuse it when somebody decides at this moment.
func (a Actor) approve(ctx context.Context, action decide.Action) error {
	o := action.Object
	object, err := a.Kube.Get(ctx, observe.CertificateRequestKind(), "", o.Name)
	if err != nil {
		return fmt.Errorf("reading request %s: %w", o.Name, err)
	}
	var request certificatesv1.CertificateSigningRequest
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &request); err != nil {
		return fmt.Errorf("reading request %s: %w", o.Name, err)
	}
	switch {
	case string(request.UID) != o.UID:
		return fmt.Errorf("request %s is another one than a moment ago: nothing was done", o.Name)
	case len(request.Status.Conditions) > 0:
		return fmt.Errorf("somebody has decided on request %s a moment ago: nothing was done", o.Name)
	}
	request.TypeMeta.APIVersion, request.TypeMeta.Kind = o.APIVersion, o.Kind
	request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "DeployerKeeper", Message: action.Why,
	}}
	text, err := json.Marshal(&request)
	if err != nil {
		return err
	}
	path := "/apis/" + o.APIVersion + "/certificatesigningrequests/" + url.PathEscape(o.Name) + "/approval"
	code, body, err := a.Kube.Raw(ctx, http.MethodPut, path, bytes.NewReader(text))
	if err == nil && code != http.StatusOK {
		var status struct{ Message string }
		_ = json.Unmarshal(body, &status) // else the code has to do
		err = fmt.Errorf("the API answers %d: %s", code, sanitize.Text(status.Message))
	}
	if err != nil {
		return fmt.Errorf("approving request %s: %w", o.Name, err)
	}
	return nil
}
