package engine

// checkMethods forgets amr unless acr is what it amounts to: by these names
// applications have had claims of their own, which count for nothing.
func (c *sessionClaims) checkMethods() {
	if string(c.ACR) != c.AMR.Level() {
		c.AMR, c.ACR = "", ""
	}
}

// amr is how an identity was proved.
func (id *identity) amr() string {
	switch {
	case id.proof:
		return "email"
	case id.stored:
		return "app"
	}
	return "fed"
}
