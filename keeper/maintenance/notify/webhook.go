package notify

import (
	"context"

	"deployer/keeper/maintenance/profile"
)

// webhookBody is the body of a request to a webhook.
type webhookBody struct {
	Node    string        `json:"node"`
	Profile string        `json:"profile"`
	State   profile.State `json:"state"`
	Message string        `json:"message"`
}

// webhook posts to any server. Each status from 200 to 299 is success.
func (s *Sender) webhook(ctx context.Context, to *profile.Webhook, m profile.Message) error {
	text, err := to.Message.Render(m)
	if err != nil {
		return err
	}
	_, err = s.post(ctx, to.URL, to.Headers, webhookBody{m.Node.Name, m.Profile.Current, m.State, text})
	return err
}
