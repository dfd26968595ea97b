package authsvc

// Renew makes the service that takes over from s under another configuration,
// on the same store, without a gap: what s counted for rate limits and, without
// a store, what was used once goes on. Both answer until the caller has sent
// the last request to s and calls its Close. The error is that of [New]; s is
// then as before. Another Session.Strategy is refused: everybody would be signed
// out, which takes a restart.
func (s *Service) Renew(c Config) (*Service, error) { return begin(c, s) }

// checkSuccessor refuses what cannot change without a restart.
func (s *Service) checkSuccessor(next *Service) error {
	if s.sessions.refersToUser() == next.sessions.refersToUser() {
		return nil
	}
	return &ConfigError{Key: "session.strategy", Problem: "cannot be changed while the service runs: it would end all sessions",
		Mend: "restart the service, or change it back"}
}

// inherit takes over what the service before knows and no store does.
func (s *Service) inherit(before *Service) {
	for _, l := range []struct{ to, from *limiter }{
		{s.limits.signIn, before.limits.signIn},
		{s.limits.mailbox, before.limits.mailbox},
		{s.limits.mailTotal, before.limits.mailTotal},
		{s.limits.mailClient, before.limits.mailClient},
		{s.limits.mailNetwork, before.limits.mailNetwork},
		{s.limits.mailKept, before.limits.mailKept},
		{s.limits.credentials, before.limits.credentials},
		{s.limits.link, before.limits.link},
		{s.limits.backchannel, before.limits.backchannel},
	} {
		if l.to != nil && l.from != nil {
			l.to.counts = l.from.counts
		}
	}
	s.limits.room = before.limits.room
	s.mails.line = before.mails.line
	s.once = before.once
	if s.revoked.poll == before.revoked.poll && s.revoked.accept == before.revoked.accept {
		s.revoked = before.revoked // a sign-out on one ends the session on both
	}
	s.bodies = before.bodies
	s.oldKeysEnd = before.oldKeysEnd
	s.chunkOnce, s.proxyOnce = before.chunkOnce, before.proxyOnce
}
