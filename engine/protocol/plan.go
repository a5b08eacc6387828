package protocol

import "encoding/json"

// PlanMessage names the source from which the host should take a blob. Without Peer and
// Controller the host waits for the next plan.
type PlanMessage struct {
	// Size and Sums are those of a peer.Manifest, in the first plan of a blob.
	Size int64  `json:"size,omitempty"`
	Sums []byte `json:"sums,omitempty"`
	// Identity is the JSON of a peer.Identity, in the first plan of each blob.
	Identity json.RawMessage `json:"identity,omitempty"`
	// Peer is the JSON of a peer.Peer.
	Peer json.RawMessage `json:"peer,omitempty"`
	// Controller has the host request the blob from the controller.
	Controller bool `json:"controller,omitempty"`
}

// PlanReport tells the controller about the transfer of a blob.
type PlanReport struct {
	Have int `json:"have,omitempty"` // verified chunks
	// Took is the longest transfer of a chunk since the last report, in microseconds.
	Took int64 `json:"took,omitempty"`
	// Kept is set when the chunks are of an earlier session.
	Kept bool `json:"kept,omitempty"`
	// Failed is the peer that has failed, Why a spread.Failure.
	Failed string `json:"failed,omitempty"`
	Why    string `json:"why,omitempty"`
	// Listening is set once after the first plan: whether the host accepts connections of peers.
	Listening *bool `json:"listening,omitempty"`
	// Text is why the host does not listen, or does not use peers.
	Text string `json:"text,omitempty"`
}
