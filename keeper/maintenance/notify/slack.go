package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"deployer/engine/sanitize"
	"deployer/keeper/maintenance/leases"
	"deployer/keeper/maintenance/profile"
)

// slackAPI is the method that posts messages (https://docs.slack.dev/reference/methods/chat.postMessage).
const slackAPI = "https://slack.com/api/chat.postMessage"

// slack posts to an incoming webhook, which answers "ok"
// (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks).
func (s *Sender) slack(ctx context.Context, to *profile.Slack, m profile.Message) error {
	text, err := to.Message.Render(m)
	if err != nil {
		return err
	}
	answer, err := s.post(ctx, to.Hook, nil, map[string]string{"channel": to.Channel, "text": text})
	if err == nil && string(answer) != "ok" {
		err = fmt.Errorf("slack answered %s", sanitize.FirstLine(string(answer), 200))
	}
	return err
}

// thread posts a message into the thread that the Lease names as its holder, or begins a new thread when the Lease has
// ended. The Lease is not renewed by replies, so a thread covers one period.
func (s *Sender) thread(ctx context.Context, to *profile.SlackThread, m profile.Message) error {
	text, err := to.Message.Render(m)
	if err != nil {
		return err
	}
	lease, ok, err := leases.Read(ctx, s.Kube, to.Lease())
	if err != nil {
		return err
	}
	if ok && !lease.Free(s.now()) {
		_, err := s.postMessage(ctx, to, text, lease.Holder)
		return err
	}
	title, err := to.Title.Render(m)
	if err != nil {
		return err
	}
	thread, err := s.postMessage(ctx, to, title, "")
	if err != nil {
		return err
	}
	// First the Lease: without it, each failure of the reply would begin another thread.
	if err := leases.Take(ctx, s.Kube, to.Lease(), thread, s.now(), time.Duration(to.Period)); err != nil {
		return err
	}
	_, err = s.postMessage(ctx, to, text, thread)
	return err
}

// postMessage posts to the channel, in a thread unless that is empty, and returns the timestamp that identifies the
// message.
func (s *Sender) postMessage(ctx context.Context, to *profile.SlackThread, text, thread string) (string, error) {
	message := map[string]string{"channel": to.Channel, "text": escape(text)}
	if thread != "" {
		message["thread_ts"] = thread
	}
	body, err := s.post(ctx, slackAPI, map[string]string{"Authorization": "Bearer " + to.Token}, message)
	if err != nil {
		return "", err
	}
	var answer struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
		TS    string `json:"ts"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", errors.New("slack's answer is no JSON")
	}
	if !answer.OK || answer.TS == "" {
		return "", fmt.Errorf("slack refused the message: %s", sanitize.FirstLine(answer.Error, 200))
	}
	return answer.TS, nil
}

// escape replaces the three characters that are markup in texts for Slack
// (https://docs.slack.dev/messaging/formatting-message-text#escaping).
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
