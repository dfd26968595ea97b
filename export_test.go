package authsvc

import "time"

// EndSessionsLater is what follows a logout token that could not be carried out.
func EndSessionsLater(s *Service, userID, provider string) {
	s.endSessionsLater(userID, provider, time.Now())
}
