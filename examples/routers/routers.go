// Package routers protects the pages of programs that use chi, Echo or Gin. It is a
// separate module so that other programs do not need their modules.
package routers

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"

	"authsvc/engine"
)

// NetHTTP uses only the standard library.
func NetHTTP(auth *engine.Service, orders http.Handler) http.Handler {
	// docs: net/http
	mux := http.NewServeMux()
	mux.Handle("/api/auth/", auth) // with its whole path: no http.StripPrefix
	mux.Handle("GET /orders", auth.Require(orders))
	// docs
	return mux
}

// Chi uses github.com/go-chi/chi.
func Chi(auth *engine.Service, orders http.Handler) http.Handler {
	// docs: chi
	r := chi.NewRouter()
	r.Handle("/api/auth/*", auth)
	r.Group(func(r chi.Router) {
		r.Use(auth.Require)
		r.Method(http.MethodGet, "/orders", orders)
	})
	// docs
	return r
}

// Echo uses github.com/labstack/echo.
func Echo(auth *engine.Service) http.Handler {
	// docs: echo
	e := echo.New()
	e.Any("/api/auth/*", echo.WrapHandler(auth))
	private := e.Group("", echo.WrapMiddleware(auth.Require))
	private.GET("/orders", func(c echo.Context) error {
		session, err := auth.Session(c.Request())
		if err != nil {
			return err
		}
		return c.String(http.StatusOK, "orders of "+session.Email)
	})
	// docs
	return e
}

// Gin uses github.com/gin-gonic/gin, whose middleware has a different signature.
func Gin(auth *engine.Service) http.Handler {
	// docs: gin
	g := gin.New()
	g.Any("/api/auth/*route", gin.WrapH(auth))
	private := g.Group("", func(c *gin.Context) {
		passed := false
		auth.Require(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			passed, c.Request = true, r
			c.Next()
		})).ServeHTTP(c.Writer, c.Request)
		if !passed {
			c.Abort()
		}
	})
	private.GET("/orders", func(c *gin.Context) {
		session, err := auth.Session(c.Request)
		if err != nil {
			c.AbortWithStatus(http.StatusServiceUnavailable)
			return
		}
		c.String(http.StatusOK, "orders of "+session.Email)
	})
	// docs
	return g
}
