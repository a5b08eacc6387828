// Package renewal renews the certificates of a master on the master itself: by the modules and with the
// proofs of role certificates-in-use, without a controller.
package renewal
